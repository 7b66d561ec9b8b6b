//! DeviceClass: devices that are asked for by one name.

use keelson_object::Object;
use keelson_registry::lifecycle::generation;
use keelson_registry::{Context, Strategy};

use crate::catalog::Settings;
use crate::shared::gated::{Feature, Off};

const FEATURES: &[Feature] =
    &[Feature { gates: &["DRAExtendedResource"], paths: &["spec.extendedResourceName"], signs: &[] }];

pub(crate) struct DeviceClass(Off);

impl DeviceClass {
    pub(crate) fn new(settings: &Settings) -> DeviceClass {
        DeviceClass(Off::of(settings, FEATURES))
    }
}

impl Strategy for DeviceClass {
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
        self.0.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.0.drop_new(&mut object.fields, Some(&old.fields));
        generation::advance(object, old, &["spec"]);
    }
}
