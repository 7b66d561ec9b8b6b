//! Names of character classes.

/// The ranges of `\d` and its kind, as the inside of a class.
pub(super) fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        'D' => "\\x{0}-/:-\\x{10FFFF}",
        's' => "\\t\\n\\x0C\\r ",
        'S' => "\\x{0}-\\x{8}\\x{B}\\x{E}-\\x{1F}!-\\x{10FFFF}",
        'w' => "0-9A-Za-z_",
        'W' => "\\x{0}-/:-@\\[-\\^`\\{-\\x{10FFFF}",
        _ => return None,
    })
}

/// `[:alpha:]` and its kind.
pub(super) fn posix(name: &str) -> Option<&'static str> {
    const NAMES: &[&str] = &[
        "[:alnum:]",
        "[:^alnum:]",
        "[:alpha:]",
        "[:^alpha:]",
        "[:ascii:]",
        "[:^ascii:]",
        "[:blank:]",
        "[:^blank:]",
        "[:cntrl:]",
        "[:^cntrl:]",
        "[:digit:]",
        "[:^digit:]",
        "[:graph:]",
        "[:^graph:]",
        "[:lower:]",
        "[:^lower:]",
        "[:print:]",
        "[:^print:]",
        "[:punct:]",
        "[:^punct:]",
        "[:space:]",
        "[:^space:]",
        "[:upper:]",
        "[:^upper:]",
        "[:word:]",
        "[:^word:]",
        "[:xdigit:]",
        "[:^xdigit:]",
    ];
    NAMES.iter().find(|known| **known == name).copied()
}

/// The name of a Unicode category or script; `None` if there is none of this name, whose case counts.
pub(super) fn unicode(name: &str) -> Option<String> {
    let is_category = matches!(
        name,
        "C" | "Cc"
            | "Cf"
            | "Co"
            | "Cs"
            | "L"
            | "Ll"
            | "Lm"
            | "Lo"
            | "Lt"
            | "Lu"
            | "M"
            | "Mc"
            | "Me"
            | "Mn"
            | "N"
            | "Nd"
            | "Nl"
            | "No"
            | "P"
            | "Pc"
            | "Pd"
            | "Pe"
            | "Pf"
            | "Pi"
            | "Po"
            | "Ps"
            | "S"
            | "Sc"
            | "Sk"
            | "Sm"
            | "So"
            | "Z"
            | "Zl"
            | "Zp"
            | "Zs"
            | "LC"
            | "Cn"
    );
    if name == "Any" {
        return Some("any".to_owned());
    }
    if is_category {
        return Some(format!("gc={name}"));
    }
    // Scripts begin with a capital letter, and so do the parts of their names.
    let is_script_name = name.len() > 2
        && name.split('_').all(|part| part.starts_with(|c: char| c.is_ascii_uppercase()) || part == "n")
        && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    if !is_script_name {
        return None;
    }
    let class = format!("sc={name}");
    regex::Regex::new(&format!("\\p{{{class}}}")).is_ok().then_some(class)
}
