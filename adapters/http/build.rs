//! Compresses the files that pages load, once, as well as it can be done: those of the folder
//! `assets`, and Swagger UI. The table of them becomes a part of `src/assets.rs`.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;

type Failable<T> = Result<T, Box<dyn Error>>;

/// The files of Swagger UI that a page needs, of the many in its release.
const SWAGGER_UI: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

/// The largest window of brotli that every browser takes, and its highest quality.
const BROTLI_WINDOW: i32 = 22;
const BROTLI_QUALITY: i32 = 11;

fn main() -> Failable<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=assets");
    let target = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut files = own_files(Path::new("assets"))?;
    files.extend(swagger_ui()?);
    files.sort();
    let (mut rows, mut hash) = (String::new(), Sha256::new());
    for (name, content) in &files {
        hash.update(name);
        hash.update(content);
        rows += &row(&target, name, content)?;
    }
    let edition = hash.finalize().iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let table = format!(
        "/// The files.\npub static ALL: [Asset; {}] = [\n{rows}];\n\n\
         /// A hash of all files.\npub const EDITION: &str = \"{edition}\";\n",
        files.len()
    );
    Ok(fs::write(target.join("assets.rs"), table)?)
}

fn own_files(folder: &Path) -> Failable<Vec<(String, Vec<u8>)>> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
    };
    fs::read_dir(folder)?.map(file).collect()
}

/// Swagger UI, from the archive of its release.
fn swagger_ui() -> Failable<Vec<(String, Vec<u8>)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let paths: Vec<_> = archive.file_names().filter_map(Result::ok).map(Cow::into_owned).collect();
    let file = |name: &str| {
        let end = format!("/dist/{name}");
        let path =
            paths.iter().find(|path| path.ends_with(&end)).ok_or("Swagger UI has changed")?;
        let mut content = Vec::new();
        archive.by_name(path)?.read_to_end(&mut content)?;
        Ok((name.to_owned(), content))
    };
    SWAGGER_UI.into_iter().map(file).collect()
}

/// Writes the three representations of a file, and its row of the table.
fn row(target: &Path, name: &str, content: &[u8]) -> Failable<String> {
    let media = match name.rsplit_once('.') {
        Some((_, "css")) => "CSS",
        Some((_, "js")) => "JAVASCRIPT",
        _ => return Err(format!("the media type of {name} is unknown").into()),
    };
    let write = |suffix: &str, bytes: &[u8]| {
        fs::write(target.join(format!("{name}{suffix}")), bytes)?;
        Failable::Ok(format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}{suffix}\"))"))
    };
    let plain = write("", content)?;
    let brotli = write(".br", &brotli(content)?)?;
    let gzip = write(".gz", &gzip(content)?)?;
    Ok(format!(
        "    Asset {{\n        name: {name:?},\n        media: MediaType::{media},\n        \
         plain: {plain},\n        brotli: {brotli},\n        gzip: {gzip},\n    }},\n"
    ))
}

fn brotli(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut small = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: content.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut Cursor::new(content), &mut small, &parameters)?;
    Ok(small)
}

fn gzip(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}
