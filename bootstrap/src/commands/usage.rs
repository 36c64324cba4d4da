//! Messages about the command line: one line each, without passwords.

use clap::error::{ContextKind, ContextValue};

pub fn message(error: &clap::Error) -> String {
    let source = variable_of(error).map(|name| format!("{name}: ")).unwrap_or_default();
    source + &one_line(&error.render().to_string())
}

fn variable_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = argument.split(' ').next()?;
    if std::env::args().any(|word| word.split('=').next() == Some(option)) {
        return None;
    }
    let name = option.strip_prefix("--")?.to_uppercase().replace('-', "_");
    let names = [format!("PROPOSAL_SERVICE_{name}"), format!("RUST_{name}")];
    names.into_iter().find(|name| std::env::var_os(name).is_some())
}

fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<_> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect();
    let said = said.join(" ").replace(" tip: ", "; ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    format!("{}; see --help", without_credentials(said))
}

/// Removes user and password from a URL in the wrong place.
fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |clean, part| {
        let end = part.find(['/', ' ', '\'']).unwrap_or(part.len());
        let host = part[..end].rfind('@').map_or(0, |at| at + 1);
        format!("{clean}://{}", &part[host..])
    })
}

#[cfg(test)]
mod tests {
    use super::{one_line, without_credentials};

    #[test]
    fn messages_take_one_line() {
        let message = "error: no such argument '--a'\n\n  tip: it is '--b'\n\nUsage: p [OPTIONS]\n\nFor more information, try '--help'.\n";
        assert_eq!(one_line(message), "no such argument '--a'; it is '--b'; see --help");
    }

    #[test]
    fn messages_show_no_password() {
        for (text, clean) in [
            (
                "unexpected 'postgres://me:secret@host/db' found",
                "unexpected 'postgres://host/db' found",
            ),
            ("postgres://me:p@ss@host", "postgres://host"),
            ("http://host/a@b", "http://host/a@b"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without_credentials(text), clean);
        }
    }
}
