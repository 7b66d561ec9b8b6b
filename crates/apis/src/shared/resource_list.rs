//! Amounts of resources by name: `{"cpu": "500m", "memory": "64Mi"}`.

use std::collections::BTreeMap;

use keelson_object::scalar::Quantity;
use keelson_object::{Map, SmolStr, Value};

use crate::shared::edit::part;
use crate::shared::lookup::Lookup;

/// Amounts by the name of the resource.
pub(crate) type Amounts = BTreeMap<SmolStr, Quantity>;

/// The smallest unit of quantities is a thousandth.
const SMALLEST_SCALE: i64 = -3;

/// The quantities in `list`. Invalid ones are skipped; the schema check has rejected them before.
pub(crate) fn read(list: Option<&Map>) -> Amounts {
    let pairs = list.into_iter().flat_map(Map::iter);
    pairs.filter_map(|(name, value)| Some((name.clone(), Quantity::from_value(value).ok()?))).collect()
}

/// Copies to the list `to` the entries that only the list `from` has.
pub(crate) fn complete(holder: &mut Map, from: &str, to: &str) {
    let Some(amounts) = holder.map(from).filter(|it| !it.is_empty()).cloned() else { return };
    let there = Lookup::of(holder.map(to));
    let missing: Vec<_> = amounts.into_iter().filter(|(name, _)| !there.contains(name)).collect();
    let list = holder.map_mut(to);
    missing.into_iter().for_each(|(name, amount)| list.push_new(name, amount));
    list.sort_keys();
}

/// The amount of `name` as it is printed; none is `0`.
pub(crate) fn shown(list: Option<&Map>, name: &str) -> String {
    let quantity = list.and_then(|it| it.get(name)).and_then(|it| Quantity::from_value(it).ok());
    quantity.map_or_else(|| "0".to_owned(), |it| format!("{it}"))
}

/// Rounds both lists of a `resources` field.
pub(crate) fn round_up_both(resources: Option<&mut Map>) {
    let Some(resources) = resources else { return };
    round_up(part(resources, "limits"));
    round_up(part(resources, "requests"));
}

/// Rounds amounts up to thousandths.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList (v1.36.4).
pub(crate) fn round_up(list: Option<&mut Map>) {
    for (_, value) in list.into_iter().flat_map(Map::iter_mut) {
        let Ok(mut quantity) = Quantity::from_value(value) else { continue };
        if !quantity.round_up(SMALLEST_SCALE) {
            *value = Value::from(quantity.to_string());
        }
    }
}

/// Adds `more` to `total`, resource by resource.
pub(crate) fn add(total: &mut Amounts, more: &Amounts) {
    for (name, quantity) in more {
        match total.get_mut(name) {
            Some(sum) => sum.add(quantity),
            None => {
                total.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// Raises `least` to `other`, resource by resource.
pub(crate) fn raise(least: &mut Amounts, other: &Amounts) {
    for (name, quantity) in other {
        if least.get(name).is_none_or(|there| quantity > there) {
            least.insert(name.clone(), quantity.clone());
        }
    }
}
