//! The records of a SARIF 2.1 log that exports use, as the schema names them.

use std::path::Path;

use holloway_format::Count;
use serde::Serialize;

/// A rule: the sort of a result.
pub(super) struct Rule {
    id: &'static str,
    level: &'static str,
    description: &'static str,
}

pub(super) const HOT: Rule = Rule {
    id: "hot-path",
    level: "note",
    description: "A path in which the program executes many instructions.",
};
pub(super) const SLOW: Rule = Rule {
    id: "slow-path",
    level: "warning",
    description: "A path that is usually fast but sometimes slow.",
};
pub(super) const NEVER: Rule = Rule {
    id: "never-taken",
    level: "note",
    description: "A way that a branch never took, though the branch ran.",
};

/// The base of files below the working directory.
const ROOT: &str = "ROOT";

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_uri_base_ids: Option<BaseIds>,
    results: Vec<SarifResult>,
}

#[derive(Serialize)]
struct BaseIds {
    #[serde(rename = "ROOT")]
    root: ArtifactLocation,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: [RuleRecord; 3],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleRecord {
    id: &'static str,
    short_description: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize, Clone)]
pub(super) struct Message {
    pub(super) text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult {
    rule_id: &'static str,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: Fingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) code_flows: Vec<CodeFlow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<Properties>,
}

#[derive(Serialize)]
pub(super) struct Fingerprints {
    #[serde(rename = "holloway/v1")]
    value: String,
}

#[derive(Serialize)]
pub(super) struct Properties {
    pub(super) count: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow {
    thread_flows: [ThreadFlow; 1],
}

#[derive(Serialize)]
struct ThreadFlow {
    locations: Vec<Step>,
}

/// A step of a path.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) location: Location,
    /// Depth of inlining.
    pub(super) nesting_level: usize,
    pub(super) execution_order: usize,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_column: Option<u32>,
}

impl Log {
    pub(super) fn new(results: Vec<SarifResult>, cwd: Option<&Path>) -> Log {
        let rule = |rule: Rule| RuleRecord {
            id: rule.id,
            short_description: Message {
                text: rule.description.to_owned(),
            },
            default_configuration: Configuration { level: rule.level },
        };
        let root = cwd.map(|cwd| BaseIds {
            root: ArtifactLocation {
                uri: format!("{}/", file_uri(&cwd.display().to_string())),
                uri_base_id: None,
            },
        });
        Log {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver {
                        name: "Holloway",
                        version: env!("CARGO_PKG_VERSION"),
                        rules: [HOT, SLOW, NEVER].map(rule),
                    },
                },
                column_kind: "unicodeCodePoints",
                original_uri_base_ids: root,
                results,
            }],
        }
    }
}

impl SarifResult {
    pub(super) fn new(
        rule: &Rule,
        text: String,
        location: Location,
        fingerprint: String,
    ) -> SarifResult {
        SarifResult {
            rule_id: rule.id,
            level: rule.level,
            message: Message { text },
            locations: [location],
            partial_fingerprints: Fingerprints { value: fingerprint },
            code_flows: Vec::new(),
            properties: None,
        }
    }
}

impl CodeFlow {
    pub(super) fn new(locations: Vec<Step>) -> CodeFlow {
        CodeFlow {
            thread_flows: [ThreadFlow { locations }],
        }
    }
}

impl Location {
    pub(super) fn new(
        artifact_location: ArtifactLocation,
        region: Region,
        message: Option<Message>,
    ) -> Location {
        Location {
            physical_location: PhysicalLocation {
                artifact_location,
                region,
            },
            message,
        }
    }

    /// The same place without a message.
    pub(super) fn at(&self) -> Location {
        Location {
            message: None,
            ..self.clone()
        }
    }
}

impl ArtifactLocation {
    /// A file: relative to the working directory if it is below it.
    pub(super) fn new(file: &str, cwd: Option<&Path>) -> ArtifactLocation {
        let path = Path::new(file);
        let below = cwd.and_then(|cwd| path.strip_prefix(cwd).ok());
        match below {
            Some(below) => ArtifactLocation {
                uri: escaped(&below.display().to_string()),
                uri_base_id: Some(ROOT),
            },
            None if path.is_absolute() => ArtifactLocation {
                uri: file_uri(file),
                uri_base_id: None,
            },
            None => ArtifactLocation {
                uri: escaped(file.strip_prefix("./").unwrap_or(file)),
                uri_base_id: cwd.map(|_| ROOT),
            },
        }
    }
}

fn file_uri(path: &str) -> String {
    format!("file://{}", escaped(path))
}

/// Percent-encodes all characters that a path of a URI must not have.
fn escaped(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(char::from(byte)),
            b'/' | b'-' | b'.' | b'_' | b'~' | b'+' | b'@' => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::{ArtifactLocation, file_uri};
    use std::path::Path;

    fn check(file: &str, uri: &str, base: Option<&str>) {
        let location = ArtifactLocation::new(file, Some(Path::new("/home/me/my app")));
        assert_eq!((&*location.uri, location.uri_base_id), (uri, base));
    }

    #[test]
    fn files_below_the_working_directory_are_relative() {
        check("/home/me/my app/src/a b.rs", "src/a%20b.rs", Some("ROOT"));
        check("/usr/include/x.h", "file:///usr/include/x.h", None);
        check("./a.c", "a.c", Some("ROOT"));
        assert_eq!(file_uri("/ü"), "file:///%C3%BC");
    }
}
