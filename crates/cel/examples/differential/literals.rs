//! Texts and literals that generated expressions and changed data are made of.

use crate::random::Random;

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "abc",
    "hello wörld",
    "A-b_c.d",
    "日本語",
    "a,b,,c",
    " padded\t",
    "x/y~z",
    "true",
    "1",
    "-7",
    "2.5",
    "0x1f",
    "app",
    "web",
    "nm",
    "%s",
    "é\u{301}",
    "aXbXc",
    "'",
    "line\nbreak",
    "ÀÉ",
    "ﬀ",
    "\u{1F600}",
];
const ADDRESSES: &[&str] = &[
    "10.0.0.1",
    "192.168.1.255",
    "127.0.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "fe80::1",
    "ff02::1",
    "2001:db8::ff00:42:8329",
    "::ffff:1.2.3.4",
    "2001:DB8::1",
    "10.0.0.01",
    "fe80::1%eth0",
    "1.2.3",
    "256.0.0.1",
    "169.254.1.1",
    "224.0.0.1",
    "fd00::12",
];
const NETWORKS: &[&str] = &[
    "10.0.0.0/8",
    "192.168.1.77/24",
    "0.0.0.0/0",
    "::/0",
    "2001:db8::/32",
    "fe80::1/64",
    "10.0.0.0/33",
    "10.0.0.0",
    "::1/128",
    "::ffff:10.0.0.0/104",
    "10.0.0.0/08",
    "127.0.0.0/31",
];
const QUANTITIES: &[&str] = &[
    "1",
    "1k",
    "1Ki",
    "100m",
    "1.5Gi",
    "-3",
    "0",
    "1e3",
    "1E",
    "500n",
    "12e6",
    "0.5",
    "+2",
    "1.2.3",
    "5Mo",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1u",
    "1e-3",
    "0.0001",
    "3.00",
    "1234567.89M",
    "2Ei",
];
const URLS: &[&str] = &[
    "https://example.com:80/path?k=a&k=b&j=c#frag",
    "https://user:pw@example.com/a%20b",
    "/abs/path?x=1",
    "relative",
    "https://[::1]:8080/",
    "http://[::1%25eth0]/",
    "https://example.com/%zz",
    "mailto:a@b.c",
    "HTTP://EXAMPLE.com",
    "://x",
    "https://a b/",
    "/",
    "https://example.com?q=%41;b=2",
];
const VERSIONS: &[&str] = &[
    "1.2.3",
    "v1.2.3",
    "1.2",
    "01.2.3",
    "1.2.3-alpha.1+build.5",
    "1.0.0-rc.1",
    "1",
    "v1",
    "1.2.3.4",
    "1.2.3-",
    "1.2.3+a-b",
    "0.0.0",
    "2.0.0-alpha",
    "1.2.3-01",
    "1.2-rc",
    "99999999999999999999.0.0",
];
const TIMES: &[&str] = &[
    "2021-02-03T04:05:06.789Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T23:59:59+05:30",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2021-02-30T00:00:00Z",
    "2021-02-03",
    "2021-03-14T02:30:00-08:00",
    "1969-12-31T23:59:59.999999999Z",
];
const DURATIONS: &[&str] = &[
    "1s",
    "1h30m",
    "-1.5h",
    "100ms",
    "0",
    "3us",
    "7ns",
    "1d",
    "9223372036s",
    "9999999999999s",
    "",
    "1m1",
    "+2s",
    "1.000000001s",
];
const ZONES: &[&str] = &[
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "+02:00",
    "-08:30",
    "Nowhere/City",
    "",
    "Local",
    "02:00",
    "Australia/Lord_Howe",
    "+25:00",
    "GMT",
];
const PATTERNS: &[&str] = &[
    "^a.*",
    "[a-z]+",
    "(a|b)*c?",
    "\\d+",
    "^$",
    "a{2,3}",
    "[",
    "(?i)ABC",
    "\\bapp\\b",
    "(?P<n>x)(y)?",
    "a**",
    "\\p{Greek}",
    ".",
    "",
    "x*",
    "[^,]*",
    "\\pX",
    "(?<n>a)",
    "a{1001}",
    "[[:alpha:]]+",
    "\\Q.\\E",
    "(?s).+",
    "^[0-9]+[kM]?$",
];
const NAMES: &[&str] = &[
    "my-name",
    "My-Name",
    "a.b.c",
    "-a",
    "a/b",
    "example.com/name",
    "_x",
    "0a",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "YWI=",
    "2021-02-03",
    "aGVsbG8",
    "a-b-",
    "kube-system",
    "https://example.com/x",
];
const SELECTORS: &[&str] = &[
    "a=b",
    "a in (b, c)",
    "!a",
    "metadata.name=x",
    "a=",
    "=b",
    "a notin (b)",
    "a>1",
    "status.phase!=Running",
];
const VERBS: &[&str] = &["get", "list", "create", "error", "", "*", "delete"];
const RESOURCES: &[&str] = &["pods", "deployments", "", "  ", "secrets", "nodes/status"];
const FORMATS: &[&str] = &[
    "%s",
    "%d",
    "%x",
    "%X",
    "%o",
    "%b",
    "%e",
    "%f",
    "%.3f",
    "%.2e",
    "%%",
    "%s and %s",
    "%z",
    "%",
    "%.f",
    "%.1d",
    "plain",
    "%q",
    "%.12f",
];

/// Texts that suit an argument of a function.
fn texts_for(function: &str, position: usize) -> &'static [&'static str] {
    match (function, position) {
        ("ip" | "isIP" | "ip.isCanonical" | "containsIP", _) => ADDRESSES,
        ("cidr" | "isCIDR" | "containsCIDR", _) => NETWORKS,
        ("quantity" | "isQuantity", _) => QUANTITIES,
        ("url" | "isURL", _) => URLS,
        ("semver" | "isSemver", _) => VERSIONS,
        ("timestamp", _) => TIMES,
        ("duration", _) => DURATIONS,
        ("matches" | "find" | "findAll", 1) => PATTERNS,
        ("validate", 1) | ("format.named", _) | ("namespace" | "name" | "serviceAccount", _) => NAMES,
        ("fieldSelector" | "labelSelector", 1) => SELECTORS,
        ("check", 1) => VERBS,
        ("resource" | "subresource" | "group", 1) => RESOURCES,
        ("path", 1) => &["/healthz", "/metrics", "", "  "],
        ("format", 0) => FORMATS,
        (name, 1) if name.starts_with("get") => ZONES,
        ("bool", _) => &["true", "False", "t", "1", "yes", ""],
        ("int" | "uint" | "double", _) => {
            &["1", "-1", "9223372036854775808", "1.5", "1e3", "0x10", "", "NaN", "inf", "_1", "1_0"]
        }
        _ => TEXTS,
    }
}

/// Text that often suits an argument of a function.
pub(crate) fn text(function: &str, position: usize, random: &mut Random) -> &'static str {
    const ALL: &[&[&str]] = &[
        TEXTS, ADDRESSES, NETWORKS, QUANTITIES, URLS, VERSIONS, TIMES, DURATIONS, ZONES, PATTERNS, NAMES,
        SELECTORS, FORMATS,
    ];
    let pool: &'static [&'static str] =
        if random.one_in(8) { ALL[random.below(ALL.len())] } else { texts_for(function, position) };
    let found: &'static &'static str = random.pick(pool);
    found
}

/// A literal of text.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n").replace('\t', "\\t");
    format!("'{escaped}'")
}

/// Whole numbers; negative ones in parentheses.
pub(crate) fn int(random: &mut Random) -> String {
    const INTS: &[&str] = &[
        "0",
        "1",
        "2",
        "3",
        "5",
        "7",
        "10",
        "(-1)",
        "(-2)",
        "100",
        "9223372036854775807",
        "(-9223372036854775808)",
        "4294967296",
        "1612325106",
    ];
    (*random.pick(INTS)).to_owned()
}

/// Unsigned numbers.
pub(crate) fn uint(random: &mut Random) -> String {
    (*random.pick(&["0u", "1u", "2u", "7u", "18446744073709551615u", "9223372036854775808u"])).to_owned()
}

/// Floating point numbers.
pub(crate) fn double(random: &mut Random) -> String {
    const DOUBLES: &[&str] = &[
        "0.0",
        "1.0",
        "2.5",
        "(-1.5)",
        "1e300",
        "1e-7",
        "(-0.0)",
        "9.223372036854775e18",
        "1e19",
        "123456789.125",
        "0.1",
        "double('NaN')",
        "double('inf')",
        "3.0",
    ];
    (*random.pick(DOUBLES)).to_owned()
}
