//! `weir rules export`: SLOs and alerts, as a rule file for Prometheus.

use weir_analysis::alert::prometheus::rules_yaml;

use super::slos::prom_slo;
use super::{asked, read};
use crate::cli::ExportArgs;

/// The rule file. SLOs that cannot be said in it stand there as comments, as alerts do.
pub(crate) fn export(args: &ExportArgs) -> Result<String, String> {
    let observatory = asked(args.config.as_deref())?;
    let names: Vec<&str> = observatory.slos.iter().map(|slo| &*slo.name).collect();
    let rules = match &args.alerts {
        Some(path) => read(path, args.config.is_some().then_some(&names[..]))?.rules,
        None => observatory.rules,
    };
    let (mut slos, mut comments) = (Vec::new(), String::new());
    for slo in &observatory.slos {
        match prom_slo(slo, observatory.own_refusals) {
            Ok(said) => slos.push(said),
            Err(why) => {
                let asked = slo.objective.text(slo.target);
                let line = format!("SLO {}: {asked}", slo.name);
                // Whatever may end a line of YAML would end the comment.
                let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
                comments += &format!("# {}\n#   is not said here: {why}\n", line.replace(breaks, " "));
            }
        }
    }
    Ok(format!("{}{comments}", rules_yaml(&rules, &slos)))
}
