//! The conversion of field defaults from Avro's JSON form in schemas to the JSON form in messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::exact_number::decimal_from_bytes;
use crate::avro_schema::{AvroField, AvroType};
use crate::conform::uuid_text;
use crate::decode::avro::default::{code_points, encode_default};
use crate::encode::json::forms::time_text;

/// Returns the default of `field` as JSON in a message, or `None` without a default that fits the type.
pub fn default_text(field: &AvroField) -> Option<String> {
    let value = field.default.as_ref()?;
    encode_default(&field.kind, value, &mut Vec::new()).ok()?;
    json_value(&field.kind, value).map(|value| value.to_string())
}

/// Converts `value`, which must be a default of `kind`.
fn json_value(kind: &AvroType, value: &Value) -> Option<Value> {
    Some(match (kind, value) {
        (AvroType::Bytes | AvroType::Fixed(_), Value::String(text)) => {
            STANDARD.encode(code_points(text)?).into()
        }
        // A number in a default is in microseconds, like the column, but a number in a message may have another unit.
        (AvroType::Json(form), Value::Number(number)) if form.base() == "long" => {
            time_text(*form, number.as_i64()?).into()
        }
        (AvroType::Uuid(_), Value::String(text)) => uuid_text(&code_points(text)?).into(),
        (AvroType::Decimal(decimal) | AvroType::DecimalText(decimal), Value::String(text)) => {
            let unscaled = decimal_from_bytes(&code_points(text)?)?;
            format!("{unscaled}e-{}", decimal.scale).into()
        }
        (AvroType::Array(item), Value::Array(items)) => {
            items.iter().map(|value| json_value(item, value)).collect::<Option<Vec<_>>>()?.into()
        }
        (AvroType::Map(item), Value::Object(pairs)) => {
            let pair = |(key, value): (&String, &Value)| Some((key.clone(), json_value(item, value)?));
            pairs.iter().map(pair).collect::<Option<Map<_, _>>>()?.into()
        }
        (AvroType::Record(record), Value::Object(_)) => {
            let member = |field: &AvroField| {
                let own = value.get(&field.name).or(field.default.as_ref())?;
                Some((field.name.clone(), json_value(&field.kind, own)?))
            };
            record.fields.iter().map(member).collect::<Option<Map<_, _>>>()?.into()
        }
        (AvroType::Nullable { .. } | AvroType::Union(_), Value::Null) => Value::Null,
        (AvroType::Nullable { .. } | AvroType::Union(_), _) => {
            let members = kind.members();
            let chosen = members.iter().find(|kind| encode_default(kind, value, &mut Vec::new()).is_ok())?;
            let inner = json_value(chosen, value)?;
            match members.as_slice() {
                [_] => inner,
                _ => Map::from_iter([(chosen.branch_name().to_owned(), inner)]).into(),
            }
        }
        _ => value.clone(),
    })
}
