// Types of the report data, schema 1, which the program embeds in the page.
//
// Unknown values are null or absent.

/**
 * A run: several sources adapted to one set of pictures.
 * @typedef {object} Run
 * @property {1} schema
 * @property {'run'} kind
 * @property {string} name  name of the target
 * @property {string} method
 * @property {string} title
 * @property {string} created
 * @property {string} command
 * @property {boolean} finished  false while the run is in progress
 * @property {[string, string][]} versions
 * @property {[string, string][]} config
 * @property {string[]} classes  K
 * @property {{name: string, file: string}[]} sources  m
 * @property {number} pictures  n
 * @property {string | null} [labels]  where the labels come from
 * @property {string | null} [test]  held-out labelled pictures, whose accuracy is `test_accuracy`
 * @property {Round[]} rounds  round 0 is before any training
 * @property {string[]} [bound_notes]
 * @property {ClassFigures[] | null} [per_class]
 * @property {Confusion | null} [confusion]
 * @property {Embedding | null} [embedding]
 * @property {Gallery | null} [gallery]
 * @property {string[]} [notes]
 * @property {{round: number, reason: string} | null} [kept]  an earlier round than the last one, whose model and
 *     predictions are the result
 * @property {Verdict | null} [verdict]
 * @property {Estimate | null} [estimate]
 * @property {Confidence | null} [confidence]
 */

/**
 * @typedef {object} Verdict
 * @property {'use' | 'check' | 'do not use'} decision
 * @property {string[]} reasons
 * @property {string} [unadapted_model]
 */

/**
 * Accuracies without labels, in percent.
 * @typedef {object} Estimate
 * @property {{accuracy: number, low: number, high: number} | null} [before]
 * @property {{accuracy: number, low: number, high: number} | null} [after]
 * @property {{class: string, pictures: number, right: number | null}[]} [classes]
 */

/**
 * The calibrated confidence of the result, in percent.
 * @typedef {object} Confidence
 * @property {boolean} calibrated
 * @property {number} mean
 * @property {number} accept_error
 * @property {number} check  pictures to look at
 * @property {number} accepted  all others
 */

/**
 * @typedef {object} Round
 * @property {number} round
 * @property {number | null} [seconds]
 * @property {Record<string, number> | null} [phases]  seconds
 * @property {number[] | null} [weights]  raw weights of the m sources, whose magnitudes count
 * @property {number | null} [confident]  pictures trained on in this round; in round 0, those confident before any training
 * @property {number | null} [mean_confidence]
 * @property {number | null} [entropy]
 * @property {number | null} [marginal_entropy]
 * @property {Record<string, number[] | null> | null} [losses]  one value per source, or one for all
 * @property {number | null} [changed]  predictions that differ from the previous round
 * @property {RoundAccuracy | null} [accuracy]
 * @property {number | null} [test_accuracy]
 * @property {Bound | null} [bound]
 */

/**
 * @typedef {object} RoundAccuracy
 * @property {number | null} [mixture]
 * @property {number[] | null} [sources]
 * @property {number | null} [confident]  of the pseudo-labels inside the confident set
 * @property {number | null} [unconfident]
 */

/**
 * The terms of the bound (Theorem 4.1). Divergences are in nats; bias, variance and sums in units of the loss; shares
 * are fractions of the confident set.
 * @typedef {object} Bound
 * @property {number} mismatch  nats, from disagreement
 * @property {number | null} [mismatch_exact]  nats, from the true labels
 * @property {number | null} [misalignment]  nats, in the joint space
 * @property {number | null} [misalignment_error]  its standard error
 * @property {number | null} [misalignment_sources]  nats, mean over the sources' own spaces
 * @property {number | null} [misalignment_cap]  nats, ln(n / N)
 * @property {number} bias
 * @property {number} variance
 * @property {number} sum  bias and variance
 * @property {number | null} [sum_exact]  the same with mismatch_exact
 * @property {number | null} [loss_bound]  M, the maximum loss
 * @property {number | null} [source_disagreement]  share of source predictions that differ from the pseudo-label
 * @property {number | null} [criteria_disagreement]  share of mixture predictions that differ from it
 * @property {number | null} [label_error]  share of wrong pseudo-labels
 */

/**
 * @typedef {object} ClassFigures
 * @property {string} class
 * @property {string[]} [known_by]  sources that know the class, where not all do
 * @property {number} before
 * @property {number} after
 * @property {number | null} [confidence]
 * @property {number | null} [recall]
 * @property {number | null} [precision]
 */

/**
 * Counts, K x K, or fewer if there are `names`: then the last row and column hold all other classes. With labels: truth by prediction, before and after. Without: prediction before by prediction after.
 * @typedef {object} Confusion
 * @property {string} rows
 * @property {string} columns
 * @property {number[][] | null} [before]
 * @property {number[][]} after
 * @property {string[]} [names]  of the rows and columns, if there are too many classes to show all
 * @property {number} [changed]  pictures off the diagonal, if there are names
 */

/**
 * A map of s pictures in one or more rounds.
 * @typedef {object} PointCloud
 * @property {number} sampled  s
 * @property {number} of
 * @property {string} pictures  base64 of uint32[s]: each point's index in the target set
 * @property {string | null} [truth]  base64 of int16[s]
 * @property {EmbeddingRound[]} rounds
 */

/**
 * A sample of pictures in several rounds and, in `full`, all pictures of the last round with a layout of their own.
 * @typedef {PointCloud & {full?: PointCloud | null}} Embedding
 */

/**
 * @typedef {object} EmbeddingRound
 * @property {number} round
 * @property {string} xy  base64 of float32[2s]
 * @property {string} label  base64 of int16[s]
 * @property {string} confident  base64 of uint8[s]
 * @property {string} agreement  base64 of float32[s]: the share of sources that agree with the mixture
 */

/** @typedef {'most_confident' | 'least_confident' | 'changed'} GalleryGroup */

/** @typedef {Partial<Record<GalleryGroup, Picture[]>>} Gallery */

/**
 * @typedef {object} Picture
 * @property {string} path
 * @property {number} index
 * @property {string} thumb  a data: address
 * @property {number} prediction  classes are indices
 * @property {number} confidence
 * @property {number | null} [before]
 * @property {number | null} [truth]
 * @property {number[] | null} [sources]  prediction of each source
 */

/**
 * The tables of a benchmark.
 * @typedef {object} Benchmark
 * @property {1} schema
 * @property {'table'} kind
 * @property {string} name
 * @property {string} created
 * @property {string} command
 * @property {[string, string][]} versions
 * @property {string[]} columns
 * @property {BenchmarkTable[]} tables
 * @property {string[]} [notes]
 * @property {boolean} [finished]
 */

/**
 * Pictures to label.
 * @typedef {object} Labelling
 * @property {1} schema
 * @property {'labels'} kind
 * @property {string} name  name of the target
 * @property {string} file  that the page saves
 * @property {string} created
 * @property {[string, string][]} versions
 * @property {boolean} audit  a random sample; the page shows no predictions
 * @property {string[]} classes
 * @property {string[]} class_cells  the classes as cells of the file
 * @property {{path: string, thumb: string, label: string, guess?: string, cells: [string, string]}[]} pictures
 */

/**
 * @typedef {object} BenchmarkTable
 * @property {string} title
 * @property {{method: string, cells: (BenchmarkCell | null)[]}[]} rows
 */

/**
 * @typedef {object} BenchmarkCell
 * @property {number} mean
 * @property {number | null} [deviation]
 * @property {number | null} [paper]
 */

export {};
