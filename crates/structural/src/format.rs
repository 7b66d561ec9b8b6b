//! Formats of strings and numbers: which of them have an effect, and what they allow.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go, kube-openapi/pkg/validation/strfmt (v1.36.4).

mod code;
mod mail;
mod net;
mod time;
pub(crate) mod uri;

use crate::schema::Kind;

/// A format that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `bsonobjectid`
    BsonObjectId,
    /// `uri`
    Uri,
    /// `email`
    Email,
    /// `hostname`
    Hostname,
    /// `ipv4`
    Ipv4,
    /// `ipv6`
    Ipv6,
    /// `cidr`
    Cidr,
    /// `mac`
    Mac,
    /// `uuid`
    Uuid,
    /// `uuid3`
    Uuid3,
    /// `uuid4`
    Uuid4,
    /// `uuid5`
    Uuid5,
    /// `isbn`
    Isbn,
    /// `isbn10`
    Isbn10,
    /// `isbn13`
    Isbn13,
    /// `creditcard`
    CreditCard,
    /// `ssn`
    Ssn,
    /// `hexcolor`
    HexColor,
    /// `rgbcolor`
    RgbColor,
    /// `byte`
    Byte,
    /// `password`
    Password,
    /// `date`
    Date,
    /// `duration`
    Duration,
    /// `date-time`
    DateTime,
    /// `k8s-short-name`
    ShortName,
    /// `k8s-long-name`
    LongName,
    /// `int32` of integers
    Int32,
    /// `int64` of integers
    Int64,
    /// `float` of numbers
    Float,
    /// `double` of numbers
    Double,
}

impl Format {
    /// The format of a schema of this type; `None` if it has no effect.
    pub fn of(kind: Kind, name: &str) -> Option<Format> {
        match kind {
            Kind::None | Kind::String => Format::of_text(&name.replace('-', "")),
            Kind::Integer if name == "int32" => Some(Format::Int32),
            Kind::Integer if name == "int64" => Some(Format::Int64),
            Kind::Number if name == "float" => Some(Format::Float),
            Kind::Number if name == "double" => Some(Format::Double),
            _ => None,
        }
    }

    fn of_text(name: &str) -> Option<Format> {
        Some(match name {
            "bsonobjectid" => Format::BsonObjectId,
            "uri" => Format::Uri,
            "email" => Format::Email,
            "hostname" => Format::Hostname,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "cidr" => Format::Cidr,
            "mac" => Format::Mac,
            "uuid" => Format::Uuid,
            "uuid3" => Format::Uuid3,
            "uuid4" => Format::Uuid4,
            "uuid5" => Format::Uuid5,
            "isbn" => Format::Isbn,
            "isbn10" => Format::Isbn10,
            "isbn13" => Format::Isbn13,
            "creditcard" => Format::CreditCard,
            "ssn" => Format::Ssn,
            "hexcolor" => Format::HexColor,
            "rgbcolor" => Format::RgbColor,
            "byte" => Format::Byte,
            "password" => Format::Password,
            "date" => Format::Date,
            "duration" => Format::Duration,
            "datetime" => Format::DateTime,
            "k8sshortname" => Format::ShortName,
            "k8slongname" => Format::LongName,
            _ => return None,
        })
    }

    /// Whether this is a format of numbers, which says nothing about texts.
    pub fn is_of_number(self) -> bool {
        matches!(self, Format::Int32 | Format::Int64 | Format::Float | Format::Double)
    }

    /// Whether a text has this format; formats of numbers say nothing about texts.
    pub fn allows(self, text: &str) -> bool {
        match self {
            Format::BsonObjectId => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Format::Uri => uri::is_request_uri(text),
            Format::Email => mail::is_address(text),
            Format::Hostname => net::is_hostname(text),
            Format::Ipv4 => net::is_ipv4(text),
            Format::Ipv6 => net::is_ipv6(text),
            Format::Cidr => net::is_cidr(text),
            Format::Mac => net::is_mac(text),
            Format::Uuid => code::is_uuid(text, None, false),
            Format::Uuid3 => code::is_uuid(text, Some(b'3'), false),
            Format::Uuid4 => code::is_uuid(text, Some(b'4'), true),
            Format::Uuid5 => code::is_uuid(text, Some(b'5'), true),
            Format::Isbn => code::is_isbn10(text) || code::is_isbn13(text),
            Format::Isbn10 => code::is_isbn10(text),
            Format::Isbn13 => code::is_isbn13(text),
            Format::CreditCard => code::is_credit_card(text),
            Format::Ssn => code::is_ssn(text),
            Format::HexColor => code::is_hex_color(text),
            Format::RgbColor => code::is_rgb_color(text),
            Format::Byte => code::is_base64(text),
            Format::Date => time::is_date(text),
            Format::Duration => time::is_duration(text),
            Format::DateTime => time::is_date_time(text),
            Format::ShortName => code::is_short_name(text),
            Format::LongName => code::is_long_name(text),
            Format::Password | Format::Int32 | Format::Int64 | Format::Float | Format::Double => true,
        }
    }
}
