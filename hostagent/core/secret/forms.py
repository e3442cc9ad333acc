"""Secrets recognised by their own form, whatever precedes them: tokens with a prefix, keys in armour, hashes, signed addresses.

Forms: what GitHub, GitLab, AWS, Slack, Hugging Face, NVIDIA and others publish of their own tokens for secret scanning; crypt(5); RFC 7468.
"""

import re

REMOVED = "<removed>"
#: Prefix and rest of a token; together never a word of a text.
_PREFIXES = (
    "(?:AKIA|ASIA|AGPA|AROA|AIDA|ANPA)[0-9A-Z]{12,}", "gh[opsru]_[A-Za-z0-9]{8,}", r"github_pat_\w{8,}", "hf_[A-Za-z0-9]{8,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|sa)[-_][\w-]{8,}", r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}", r"xapp-[\w-]{8,}",
    "npm_[A-Za-z0-9]{8,}", r"(?:sk|rk|pk)[-_][\w-]{16,}", r"nvapi-[\w-]{8,}", r"AIza[\w-]{20,}", r"ya29\.[\w-]{8,}",
    r"dckr_(?:pat|oat)_[\w-]{8,}", r"pypi-[\w-]{16,}", r"(?:hvs|hvb|hvr)\.[\w-]{8,}", r"K10[0-9a-f]{32,}[\w:.]*",
    r"SG\.[\w-]{8,}\.[\w-]{8,}", r"tskey-[\w-]{8,}", r"dop_v1_\w{8,}", r"shp(?:at|ca|pa|ss)_\w{8,}", r"AGE-SECRET-KEY-1\w{8,}",
    r"eyJ[\w-]{6,}(?:\.[\w-]{1,4096}){0,4}", r"NRAK-\w{8,}", r"lin_api_\w{8,}", r"sq0[a-z]{3}-[\w-]{8,}", r"ATATT3[\w=-]{8,}",
    r"AccountKey=[\w+/=]{8,}", r"grub\.pbkdf2\.\w{1,16}\.\d{1,9}\.[0-9A-Za-z.]{8,}", r"\{S?SHA(?:256|512)?\}[\w+/=]{8,}",
    r"\$(?:1|2[abxy]?|5|6|7|y|gy|md5|sha1|argon2id?|scrypt)\$[^\s:\"',;\\]{8,}",
)  # fmt: skip
_TOKEN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_PREFIXES)})")
#: Parameters and paths of addresses that grant access by themselves.
_SIGNED = re.compile(
    r"(?i)(?<=[?&;])((?:sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-signature|code|key|token|secret)=)[^\s&;\"'\\#,]{1,}"
)
_ISCSI = re.compile(r"(?i)(\biscsi:)[^@\s\"']{1,200}(?=@)")
_HOOK = re.compile(
    r"(?i)(?<=://)((?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com|[\w.-]{1,80}/receiver/v1/http)/)[^\s\"'\\,]{4,}"
)
#: To its end line, or as far as the text can be part of it.
_ARMOUR = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?:(?:[^-]|-(?!----))*(-----END [A-Z0-9 ]{0,40}-----)|(?:[\w\s+/=\\:,.]|-(?!----))+)"
)


def without_tokens(text: str) -> str:
    """`text` without secrets that their form shows.

    >>> without_tokens("pull with ghp_0123456789abcdef from https://x/y?sv=1&sig=aB%2B")
    'pull with <removed> from https://x/y?sv=1&sig=<removed>'
    """
    if "-----BEGIN" in text:
        text = _ARMOUR.sub(lambda found: f"{found[1]}{REMOVED}{found[2] or ''}", text)
    if "://" in text:
        text = _HOOK.sub(rf"\1{REMOVED}", text)
    text = _ISCSI.sub(rf"\1{REMOVED}", text)
    return _TOKEN.sub(REMOVED, _SIGNED.sub(rf"\1{REMOVED}", text))
