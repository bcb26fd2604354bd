//! The data set that the command line asks for.

use std::path::PathBuf;

use weir_load::bench::dataset::{
    Conversation, ConversationSource, Custom, Dataset, PrefixRepetition, Random, Record, Sampling, ShareGpt,
    Trace, TraceFormat,
};

use super::args::{DataArgs, DatasetName, TraceArg};
use super::record;

/// The data set; a file is read when it is asked for requests, but a record, which is read here.
pub(super) fn dataset(args: &DataArgs) -> Result<Dataset, String> {
    let sampling = Sampling { shuffle: !args.disable_shuffle, oversample: !args.no_oversample };
    Ok(match args.dataset_name {
        DatasetName::Sharegpt => {
            Dataset::ShareGpt(ShareGpt { path: path(args)?, output_len: args.output_len, sampling })
        }
        DatasetName::Custom => {
            Dataset::Custom(Custom { path: path(args)?, output_len: args.output_len, sampling })
        }
        DatasetName::Random => Dataset::Random(Random {
            input_len: args.random_input_len,
            output_len: args.random_output_len,
            input_range_ratio: args.random_range_ratio,
            output_range_ratio: args.random_range_ratio,
            prefix_len: args.random_prefix_len,
        }),
        DatasetName::PrefixRepetition => Dataset::PrefixRepetition(PrefixRepetition {
            prefix_len: args.prefix_repetition_prefix_len,
            suffix_len: args.prefix_repetition_suffix_len,
            num_prefixes: args.prefix_repetition_num_prefixes,
            output_len: args.prefix_repetition_output_len,
        }),
        DatasetName::Conversation => Dataset::Conversation(conversation(args)),
        DatasetName::Trace => Dataset::Trace(Trace {
            path: path(args)?,
            format: match args.trace_format {
                TraceArg::Mooncake => TraceFormat::Mooncake,
                TraceArg::Burstgpt => TraceFormat::BurstGpt { model: args.trace_model.clone() },
            },
            time_scale: args.time_scale,
            start: args.trace_start,
        }),
        DatasetName::Record => {
            Dataset::Record(Record { entries: record::read(&path(args)?)?, time_scale: args.time_scale })
        }
    })
}

/// Whether the data set has an end of its own, and is asked to it unless told otherwise.
pub(super) const fn has_an_end(name: DatasetName) -> bool {
    matches!(name, DatasetName::Trace | DatasetName::Record)
}

fn conversation(args: &DataArgs) -> Conversation {
    let (source, output_len) = match &args.dataset_path {
        Some(path) => (ConversationSource::File(path.clone()), args.output_len),
        None => {
            let source = ConversationSource::Synthetic {
                turns: args.conversation_turns,
                input_len: args.random_input_len,
                system_len: args.random_prefix_len,
            };
            (source, Some(args.random_output_len))
        }
    };
    Conversation { source, pause: args.conversation_pause, output_len }
}

fn path(args: &DataArgs) -> Result<PathBuf, String> {
    args.dataset_path.clone().ok_or_else(|| "this data set is a file: --dataset-path FILE".to_owned())
}
