//! The format of the tables, line by line.

use super::read;
use crate::types::{ListType, Member, Shape, Struct, UnionRole};

const TEXT: &str = "\
table apps/v1
group \"apps\"
version v1

kind Thing namespaced list=ThingList introduced=1.9 removed=1.25
  method GetScale get scale result=autoscaling/v1.Scale
kind Review only=create

enum Color \"blue\" \"dark red\"

type Thing struct=atomic
  inline meta/v1.TypeMeta -
  color string:Color 1 omitempty default=\"blue\"
  counts (map[string:core/v1.ResourceName]Quantity):Counts 2
  verbs <[]string>:Verbs 3 list=set
  which string 4 omitempty required discriminator
  one *One 5 omitempty undescribed member=One
  ports []*Port 17 optional list=map(port,protocol) patch=merge,retainKeys(port)
";

fn field<'t>(thing: &'t Struct, name: &str) -> &'t crate::Field {
    let found = thing.members().iter().find_map(|it| match it {
        Member::Field(field) if field.name == name => Some(field),
        _ => None,
    });
    found.expect("the field is in the table")
}

#[test]
fn kinds_say_where_and_how_they_are_served() {
    let table = read("apps/v1", TEXT).expect("a table");
    let [thing, review] = &table.kinds[..] else { panic!("two kinds") };
    assert_eq!(thing.scope, Some(crate::Scope::Namespaced));
    assert_eq!(thing.list.as_deref(), Some("ThingList"));
    assert_eq!(thing.lifecycle.removed.as_deref(), Some("1.25"));
    assert_eq!(thing.methods[0].subresource, "scale");
    assert_eq!(thing.methods[0].result.as_deref(), Some("autoscaling/v1.Scale"));
    assert_eq!(review.scope, None);
    assert_eq!(review.only_verbs.as_deref(), Some(&["create".into()][..]));
    assert_eq!(table.enums["Color"], ["blue", "dark red"]);
}

#[test]
fn fields_say_what_they_are() {
    let table = read("apps/v1", TEXT).expect("a table");
    let thing = &table.structs["Thing"];
    assert!(thing.is_atomic);
    assert!(matches!(&thing.members()[0], Member::Embedded(_, None)));
    let color = field(thing, "color");
    assert_eq!((color.number, color.omit_empty, color.ty.go_name()), (Some(1), true, "v1.Color".to_owned()));
    assert_eq!(color.default, Some("blue".into()));
    let counts = field(thing, "counts");
    assert_eq!(counts.ty.go_name(), "v1.Counts");
    let Shape::Map(types) = &counts.ty.shape else { panic!("a map") };
    assert_eq!(
        (types.0.go_name(), types.1.go_name()),
        ("v1.ResourceName".into(), "resource.Quantity".into())
    );
    assert!(field(thing, "verbs").ty.is_message);
    let (which, one) = (field(thing, "which"), field(thing, "one"));
    assert_eq!((which.is_optional, which.omit_empty, which.is_described), (false, true, true));
    assert_eq!((one.is_optional, one.is_described), (true, false));
    assert_eq!(which.union.as_deref(), Some(&UnionRole::Discriminator));
    assert_eq!(one.union.as_deref(), Some(&UnionRole::Member("One".into())));
    let ports = field(thing, "ports");
    assert_eq!(ports.list_type, Some(ListType::Map(vec!["port".into(), "protocol".into()])));
    let patch = ports.patch.as_ref().expect("a strategy");
    assert!(patch.merge && patch.retain_keys && !patch.replace);
    assert_eq!(patch.key.as_deref(), Some("port"));
    let Shape::List(item) = &ports.ty.shape else { panic!("a list") };
    assert!(item.is_pointer);
}

#[test]
fn a_line_that_makes_no_sense_is_refused() {
    let check = |text: &'static str| assert!(read("a/v1", text).is_none(), "{text}");
    check("kind Thing sideways");
    check("sort Thing");
    check("type Thing\n  name string");
    check("type Thing\n  name string one");
    check("type Thing\n  name string 1 sometimes");
    check("  name string 1");
}
