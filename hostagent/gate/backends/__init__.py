"""Where candidates come from: files of reports. Those that ask a cluster are to come."""
