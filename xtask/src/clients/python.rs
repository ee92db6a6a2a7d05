//! The Python library: wheel and sdist, installed from the wheel, which is built from the sdist.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::TIMEOUT;
use super::packing::only_file;
use crate::console::Step;
use crate::provision::{python, require_node};
use crate::{command, workspace};

/// Packs the library, installs the wheel into a new environment, and checks and tests it there.
pub fn suite(folder: &Path) -> Result<Command> {
    // The scripted server of the behaviours.
    require_node()?;
    let source = workspace::root().join("clients/python");
    let environment = installed(folder, &source)?;
    for (name, arguments) in [
        ("mypy --strict", ["-m", "mypy", "--strict", "--cache-dir=/dev/null", "src", "tests"].as_slice()),
        ("ruff check", &["-m", "ruff", "check", "--no-cache"]),
        ("ruff format", &["-m", "ruff", "format", "--no-cache", "--check"]),
    ] {
        environment.run(name, &source, |python| python.args(arguments))?;
    }
    let mut pytest = environment.python();
    pytest.current_dir(source).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    Ok(pytest)
}

/// Packs the library and installs the wheel into a new environment below `folder`. Returns the environment's interpreter.
///
/// # Errors
/// If a package is not available, or packing fails.
pub fn install(folder: &Path) -> Result<PathBuf> {
    Ok(python::interpreter(&installed(folder, &workspace::root().join("clients/python"))?.folder))
}

fn installed(folder: &Path, source: &Path) -> Result<Environment> {
    let environment = Environment::create(&folder.join("environment"), source)?;
    let packed = folder.join("packed");
    // The module `build` makes the wheel from the sdist, so a file that the sdist leaves out is missed here.
    environment.run("pack the Python library", source, |python| {
        python.args(["-m", "build", "--no-isolation", "--outdir"]).arg(&packed)
    })?;
    only_file(&packed, "gz")?;
    let wheel = only_file(&packed, "whl")?;
    environment.run("install the wheel", folder, |python| {
        python.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--no-index"]).arg(&wheel)
    })?;
    // Whether the wheel names everything that it needs, in versions that are here.
    environment.run("requirements of the wheel", folder, |python| python.args(["-m", "pip", "check"]))?;
    Ok(environment)
}

/// A virtual environment with exactly the packages of `requirements.txt`.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    fn create(folder: &Path, source: &Path) -> Result<Self> {
        let mut step = Step::start("Python packages of the Python library");
        python::create(&mut step, folder, &source.join("requirements.txt"))?;
        step.done("installed");
        Ok(Self { folder: folder.to_owned() })
    }

    fn python(&self) -> Command {
        let mut python = Command::new(python::interpreter(&self.folder));
        // The clone stays as it is.
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    }

    fn run(&self, name: &str, folder: &Path, with: impl FnOnce(&mut Command) -> &mut Command) -> Result<()> {
        let mut step = Step::start(name);
        let mut python = self.python();
        with(python.current_dir(folder));
        command::run(&mut step, python, &workspace::log("python"), TIMEOUT)?;
        step.done("");
        Ok(())
    }
}
