//! The HTML around the document: the committed bundle of the page's program and style.

/// The bundle that `npm run build` makes in web/.
const SCRIPT: &str = include_str!("bundle/page.js");
const STYLE: &str = include_str!("bundle/page.css");

/// The page loads nothing, and its only scripts and styles are in the file.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// The page with a packed document.
pub(super) fn page(title: &str, document: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Holloway</title>
<style>
{STYLE}</style>
</head>
<body>
<div id="page"><p class="opening" role="status">Opening the profile …</p></div>
<noscript><p>This page shows a profile with JavaScript. It loads nothing from the network.</p></noscript>
<script type="text/plain" id="document">{document}</script>
<script>
{SCRIPT}</script>
</body>
</html>
"#
    )
}

/// A text in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, STYLE, page};

    #[test]
    fn a_title_is_text() {
        let page = page("<b> & \"c\"", "");
        assert!(page.contains("<title>&lt;b&gt; &amp; &quot;c&quot; · Holloway</title>"));
    }

    #[test]
    fn a_page_may_load_nothing() {
        assert!(page("", "").contains("content=\"default-src 'none'; script-src"));
    }

    #[test]
    fn the_bundle_does_not_end_its_element() {
        assert!(!SCRIPT.contains("</script"));
        assert!(!STYLE.contains("</style"));
    }
}
