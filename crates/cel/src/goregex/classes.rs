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

/// The categories of Go's package `unicode`.
const CATEGORIES: &str = "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp \
    Zs";
/// Longer names of categories, as [`canonical`] writes them.
const ALIASES: &str = "Casedletter=LC Closepunctuation=Pe Cntrl=Cc Combiningmark=M Connectorpunctuation=Pc Control=Cc \
    Currencysymbol=Sc Dashpunctuation=Pd Decimalnumber=Nd Digit=Nd Enclosingmark=Me Finalpunctuation=Pf \
    Format=Cf Initialpunctuation=Pi Letter=L Letternumber=Nl Lineseparator=Zl Lowercaseletter=Ll Mark=M \
    Mathsymbol=Sm Modifierletter=Lm Modifiersymbol=Sk Nonspacingmark=Mn Number=N Openpunctuation=Ps Other=C \
    Otherletter=Lo Othernumber=No Otherpunctuation=Po Othersymbol=So Paragraphseparator=Zp Privateuse=Co \
    Punct=P Punctuation=P Separator=Z Spaceseparator=Zs Spacingmark=Mc Surrogate=Cs Symbol=S \
    Titlecaseletter=Lt Unassigned=Cn Uppercaseletter=Lu";
/// The scripts of Go's package `unicode` (Unicode 15) that a pattern can name. Go drops underscores before it looks for
/// a name, and therefore finds none whose name has one.
const SCRIPTS: &str = "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille \
    Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret \
    Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati \
    Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi \
    Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam \
    Mandaic Manichaean Marchen Medefaidrin Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa \
    Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada \
    Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut \
    Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi";

/// The class of a Unicode category or script for the crate `regex`; `None` if there is none of this name.
///
/// Upstream: Go's regexp/syntax/parse.go, unicodeTable (go1.26).
pub(super) fn unicode(name: &str) -> Option<String> {
    let name = canonical(name);
    let category = match name.as_str() {
        "Any" | "Assigned" | "Ascii" => return Some(name.to_ascii_lowercase()),
        "Lc" => "LC",
        name => name,
    };
    let has = |list: &str, name: &str| list.split(' ').any(|known| known == name);
    if has(CATEGORIES, category) {
        return Some(format!("gc={category}"));
    }
    if has(SCRIPTS, &name) {
        return Some(format!("sc={name}"));
    }
    let alias =
        ALIASES.split(' ').filter_map(|alias| alias.split_once('=')).find(|(alias, _)| *alias == name);
    alias.map(|(_, category)| format!("gc={category}"))
}

/// The name with a capital at its beginning and small letters behind, without spaces, hyphens and underscores.
fn canonical(name: &str) -> String {
    let mut canonical = String::with_capacity(name.len());
    for character in name.chars().filter(|character| !matches!(character, '_' | '-' | ' ')) {
        canonical.push(match canonical.is_empty() {
            true => character.to_ascii_uppercase(),
            false => character.to_ascii_lowercase(),
        });
    }
    canonical
}
