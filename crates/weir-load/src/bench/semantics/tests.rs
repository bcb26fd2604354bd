use super::*;
use crate::bench::backend::Output;
use crate::bench::run::{Asked, Failure, Times};
use crate::bench::samples::sample;

const MS: u64 = 1_000_000;

fn event(at_ms: u64, output: Option<Output>, is_vllm_token: bool, tokens: Option<u32>) -> Arrival {
    Arrival { at_ns: at_ms * MS, output, is_vllm_token, tokens }
}

/// Sent at 100 ms: a role, a special token, two events of text with one token and three, a finish, usage; over
/// at 400 ms.
fn stream() -> Sample {
    Sample {
        arrivals: vec![
            event(150, None, false, None),
            event(160, None, true, None),
            event(200, Some(Output::Content), true, Some(1)),
            event(260, Some(Output::Content), true, Some(3)),
            event(270, None, false, None),
            event(280, None, false, None),
        ],
        ..sample(0, 100, 400)
    }
}

fn close(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len(), "{values:?}");
    assert!(values.iter().zip(expected).all(|(value, is)| (value - is).abs() < 1e-12), "{values:?}");
}

#[test]
fn each_tool_sees_a_stream_in_its_own_way() {
    let mut sample = stream();
    sample.usage.output = Some(5);
    sample.vllm.output_tokens = Some(5);

    let weir = Semantics::Weir.view(&sample);
    close(&[weir.ttft_s.unwrap(), weir.e2e_s.unwrap(), weir.tpot_s.unwrap()], &[0.1, 0.16, 0.015]);
    close(&weir.itls_s, &[0.02; 3]);
    assert_eq!(weir.output, Length::Usage(5));

    let vllm = Semantics::Vllm.view(&sample);
    close(&[vllm.ttft_s.unwrap(), vllm.e2e_s.unwrap(), vllm.tpot_s.unwrap()], &[0.06, 0.16, 0.025]);
    close(&vllm.itls_s, &[0.04, 0.06]);

    let otel = Semantics::Otel.view(&sample);
    close(&[otel.ttft_s.unwrap(), otel.e2e_s.unwrap(), otel.tpot_s.unwrap()], &[0.05, 0.3, 0.0625]);
    close(&otel.itls_s, &[0.01, 0.04, 0.06, 0.01, 0.01]);
}

#[test]
fn lengths_say_where_they_come_from() {
    let mut sample = stream();
    assert_eq!(Semantics::Weir.view(&sample).output, Length::Told(4));
    assert_eq!(Semantics::Vllm.view(&sample).output, Length::Counted(3));
    sample.arrivals[3].tokens = None;
    let view = Semantics::Weir.view(&sample);
    assert_eq!(view.output, Length::Counted(2));
    close(&view.itls_s, &[0.06]);
    assert_eq!(view.input, Length::Unknown);
    sample.asked = Asked { input_tokens: Some(9), ..Asked::default() };
    assert_eq!(Semantics::Weir.view(&sample).input, Length::DataSet(9));
    sample.usage.input = Some(11);
    assert_eq!(Semantics::Weir.view(&sample).input, Length::Usage(11));
    // Usage that stood on tokens alone is none for vLLM's bench.
    sample.usage.output = Some(5);
    assert_eq!(Semantics::Vllm.view(&sample).output, Length::Counted(3));
}

#[test]
fn one_token_has_no_time_per_token() {
    let mut sample = stream();
    (sample.usage.output, sample.vllm.output_tokens) = (Some(1), Some(1));
    for semantics in [Semantics::Weir, Semantics::Vllm, Semantics::Otel] {
        assert_eq!(semantics.view(&sample).tpot_s, None, "{semantics}");
    }
}

#[test]
fn an_answer_that_is_no_stream_has_only_an_end() {
    let mut sample = sample(0, 100, 400);
    sample.wire.is_stream = false;
    sample.usage.output = Some(5);
    for semantics in [Semantics::Weir, Semantics::Vllm, Semantics::Otel] {
        let view = semantics.view(&sample);
        assert_eq!((view.ttft_s, view.tpot_s, view.e2e_s), (None, None, Some(0.3)), "{semantics}");
        assert!(view.itls_s.is_empty());
    }
}

#[test]
fn an_error_in_mid_stream_is_no_failure_for_vllm() {
    let mut sample = stream();
    sample.end = End::Failed(Failure::InBand, "boom".into());
    sample.vllm.is_success = true;
    assert!(Semantics::Vllm.view(&sample).is_success);
    assert!(!Semantics::Weir.view(&sample).is_success);
    assert!(!Semantics::Otel.view(&sample).is_success);
}

#[test]
fn the_wait_before_sending_is_not_in_latencies() {
    let mut sample = stream();
    sample.times = Times { intended_ns: 0, ..sample.times };
    assert_eq!(sample.times.lateness_ns(), 100 * MS);
    close(&[Semantics::Weir.view(&sample).ttft_s.unwrap()], &[0.1]);
}

#[test]
fn names_are_read_back() {
    for semantics in [Semantics::Weir, Semantics::Vllm, Semantics::Otel] {
        assert_eq!(semantics.name().parse(), Ok(semantics));
    }
    assert!("sglang".parse::<Semantics>().is_err());
}
