//! Cobertura's XML: packages (folders), classes (files), methods (functions), and lines with the
//! share of their branches' ways.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::coverage::{FileCoverage, Share, coverage};
use super::run::{ExportRun, Result};

type Xml<'a> = Writer<&'a mut dyn Write>;

/// A file: its name in the document, and its coverage.
type Class = (String, FileCoverage);

/// Writes the document. Files below the working directory are named relative to it.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let cwd = export.options.cwd.as_deref();
    let mut packages: BTreeMap<String, Vec<Class>> = BTreeMap::new();
    for (path, file) in coverage(export) {
        let below = cwd.and_then(|cwd| Path::new(&path).strip_prefix(cwd).ok());
        let name = below.map_or_else(|| path.clone(), |below| below.display().to_string());
        let folder = Path::new(&name).parent().map(|folder| folder.display());
        let folder = folder.map(|folder| folder.to_string()).unwrap_or_default();
        packages.entry(folder).or_default().push((name, file));
    }
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    write_document(&mut xml, cwd, &packages)?;
    Ok(writeln!(xml.into_inner())?)
}

fn write_document(
    xml: &mut Xml<'_>,
    cwd: Option<&Path>,
    packages: &BTreeMap<String, Vec<Class>>,
) -> io::Result<()> {
    let (lines, ways) = shares(packages.values().flatten());
    let numbers = [
        ("lines-covered", lines.hit),
        ("lines-valid", lines.found),
        ("branches-covered", ways.hit),
        ("branches-valid", ways.found),
        ("timestamp", 0),
    ];
    let numbers = numbers.map(|(name, number)| (name, number.to_string()));
    let numbers = numbers.iter().map(|(name, number)| (*name, &**number));
    xml.create_element("coverage")
        .with_attributes(
            rates(lines, ways)
                .each_ref()
                .map(|(name, rate)| (*name, &**rate)),
        )
        .with_attributes(numbers)
        .with_attribute(("version", env!("CARGO_PKG_VERSION")))
        .write_inner_content(|xml| {
            let source = cwd.map(|cwd| cwd.display().to_string());
            xml.create_element("sources").write_inner_content(|xml| {
                let source = source.unwrap_or_else(|| "/".to_owned());
                let text = BytesText::new(&source);
                xml.create_element("source").write_text_content(text)?;
                Ok(())
            })?;
            xml.create_element("packages").write_inner_content(|xml| {
                let mut packages = packages.iter();
                packages.try_for_each(|(name, classes)| write_package(xml, name, classes))
            })?;
            Ok(())
        })?;
    Ok(())
}

fn write_package(xml: &mut Xml<'_>, name: &str, classes: &[Class]) -> io::Result<()> {
    let (lines, ways) = shares(classes);
    xml.create_element("package")
        .with_attribute(("name", name))
        .with_attributes(
            rates(lines, ways)
                .each_ref()
                .map(|(name, rate)| (*name, &**rate)),
        )
        .write_inner_content(|xml| {
            xml.create_element("classes").write_inner_content(|xml| {
                classes.iter().try_for_each(|class| write_class(xml, class))
            })?;
            Ok(())
        })?;
    Ok(())
}

fn write_class(xml: &mut Xml<'_>, class: &Class) -> io::Result<()> {
    let (path, file) = class;
    let (lines, ways) = shares([class]);
    let name = Path::new(path).file_name().unwrap_or_default();
    xml.create_element("class")
        .with_attribute(("name", &*name.to_string_lossy()))
        .with_attribute(("filename", &**path))
        .with_attributes(
            rates(lines, ways)
                .each_ref()
                .map(|(name, rate)| (*name, &**rate)),
        )
        .write_inner_content(|xml| {
            write_methods(xml, file)?;
            write_lines(xml, file)
        })?;
    Ok(())
}

/// Writes a method for each function. Its line is the declaration, with the calls.
fn write_methods(xml: &mut Xml<'_>, file: &FileCoverage) -> io::Result<()> {
    xml.create_element("methods").write_inner_content(|xml| {
        for ((line, name), count) in &file.functions {
            let hit = usize::from(count.0 > 0);
            let share = Share { hit, found: 1 };
            xml.create_element("method")
                .with_attributes([("name", &**name), ("signature", "")])
                .with_attributes(
                    rates(share, Share::default())
                        .each_ref()
                        .map(|(name, rate)| (*name, &**rate)),
                )
                .write_inner_content(|xml| {
                    xml.create_element("lines").write_inner_content(|xml| {
                        let (line, hits) = (line.to_string(), count.0.to_string());
                        xml.create_element("line")
                            .with_attributes([("number", &*line), ("hits", &*hits)])
                            .write_empty()?;
                        Ok(())
                    })?;
                    Ok(())
                })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_lines(xml: &mut Xml<'_>, file: &FileCoverage) -> io::Result<()> {
    let mut branches: BTreeMap<u32, Vec<Share>> = BTreeMap::new();
    for branch in &file.branches {
        let share = Share {
            hit: branch.taken(),
            found: branch.ways.len(),
        };
        branches.entry(branch.line).or_default().push(share);
    }
    xml.create_element("lines").write_inner_content(|xml| {
        for (line, count) in &file.lines {
            let (number, hits) = (line.to_string(), count.0.to_string());
            let element = xml
                .create_element("line")
                .with_attributes([("number", &*number), ("hits", &*hits)]);
            let Some(branches) = branches.get(line) else {
                element.with_attribute(("branch", "false")).write_empty()?;
                continue;
            };
            let all = branches.iter().copied().fold(Share::default(), Share::and);
            element
                .with_attribute(("branch", "true"))
                .with_attribute(("condition-coverage", &*condition_coverage(all)))
                .write_inner_content(|xml| write_conditions(xml, branches))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_conditions(xml: &mut Xml<'_>, branches: &[Share]) -> io::Result<()> {
    xml.create_element("conditions")
        .write_inner_content(|xml| {
            for (number, share) in branches.iter().enumerate() {
                let (number, covered) = (number.to_string(), percent(*share));
                xml.create_element("condition")
                    .with_attributes([("number", &*number), ("type", "jump")])
                    .with_attribute(("coverage", &*covered))
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

/// `50% (1/2)`.
fn condition_coverage(share: Share) -> String {
    format!("{} ({}/{})", percent(share), share.hit, share.found)
}

fn percent(Share { hit, found }: Share) -> String {
    format!("{}%", (hit * 100).checked_div(found).unwrap_or(100))
}

/// Shares of lines and ways of some files.
fn shares<'a>(classes: impl IntoIterator<Item = &'a Class>) -> (Share, Share) {
    let none = (Share::default(), Share::default());
    classes.into_iter().fold(none, |(lines, ways), (_, file)| {
        let lines = lines.and(Share::of_lines(file));
        (lines, ways.and(Share::of_ways(file)))
    })
}

/// The attributes that every level has. Complexity is not measured.
fn rates(lines: Share, ways: Share) -> [(&'static str, String); 3] {
    let rate = |Share { hit, found }: Share| match found {
        0 => "1".to_owned(),
        _ => format!("{:.4}", hit as f64 / found as f64),
    };
    [
        ("line-rate", rate(lines)),
        ("branch-rate", rate(ways)),
        ("complexity", "0".to_owned()),
    ]
}
