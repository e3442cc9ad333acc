"""The distribution: is it one NVIDIA publishes packages for, who owns it as an image, SELinux's word on devices."""
