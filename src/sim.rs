//! `weir sim`: the simulated engine by itself.

use weir_load::engine::{Behaviour, EngineConfig, FaultRates, Length};

use crate::cli::SimArgs;

/// The engine that the flags describe; an error names the flag that is wrong.
pub(crate) fn config(args: SimArgs) -> Result<EngineConfig, String> {
    if args.tps.is_nan() || args.tps <= 0.0 {
        return Err("--tps must be above zero".into());
    }
    let faults = FaultRates::new(args.faults).ok_or("--fault: the shares add up to more than 1")?;
    Ok(EngineConfig {
        behaviour: Behaviour {
            ttft: args.ttft,
            tps: args.tps,
            interval: args.interval.into(),
            length: Length::AsAsked { otherwise: args.tokens },
            tokens_per_chunk: args.tokens_per_chunk,
            role: args.role.into(),
            ..Behaviour::default()
        },
        seed: args.seed,
        max_concurrent: (args.max_concurrent > 0).then_some(args.max_concurrent),
        models: args.models,
        strict_models: args.strict_models,
        faults,
        truth: args.truth,
    })
}
