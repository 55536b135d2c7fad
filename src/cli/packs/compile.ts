import { firstDifference } from '../../compile/compile.ts'
import type { CompiledContext } from '../../model/contract/compiled.ts'
import { bucketNames } from '../../model/contract/context.ts'
import { singleOperation } from '../operation-command.ts'
import { found, type Io, line, paint, plain, printJson } from '../terminal/io.ts'
import { printFields } from '../terminal/table.ts'
import { readRequest } from './read.ts'

const fixedSeed = '0'.repeat(32)

export default singleOperation('compile', {
  input: {
    request: false,
    run_context: false,
    profile: ['--profile <name>', '`page` takes the printed examples of the contract, and surfaces reads alone'],
    fence_seed: ['--fence-seed <hex>', 'the seed of the fences, 32 hex digits (default: zeros)'],
  },
  own: (command) =>
    void command
      .requiredOption('--request <file>', 'the request; or a file with `request` and `run_context`')
      .option('--diff <file>', 'a second request: names the first stage in which the two differ'),
  help: 'Runs nothing. Exit 0: compiled. 1: refused, or the two differ. 2: usage or environment.',
  complete: async (io, { options }) => ({
    fence_seed: fixedSeed,
    ...(await readRequest(io, String(options['request']))),
  }),
  perform: async (compile, { input, options }, io) => {
    const made = await compile(input)
    if (options['diff'] === undefined) return made
    const other = await compile({ ...input, ...(await readRequest(io, String(options['diff']))) })
    const stage = firstDifference(made, other)
    if (stage !== undefined) found(io)
    if (options.json) printJson(io, { first_difference: stage ?? null })
    else line(io, stage === undefined ? 'no stage differs' : `they differ from stage ${stage} on`)
    return made
  },
  ownJson: true,
  print: (io, made, { options }) => {
    if (options['diff'] !== undefined) return
    if (options.json) return printJson(io, made)
    printCompiled(io, made)
  },
})

/** The six buckets as bars, what was left out of them and why, the tools, and what is hidden. */
function printCompiled(
  io: Io,
  { budget_report: report, context_ledger: ledger, runtime_controls }: CompiledContext,
): void {
  const { tokens_allocated, tokens_used_by_bucket, bucket_truncations } = report
  line(io, paint(io, 'bold', `${report.tokens_used_at_compile} tokens in six buckets`))
  for (const bucket of bucketNames) {
    const [used, most] = [tokens_used_by_bucket[bucket], tokens_allocated[bucket]]
    const full = most === 0 ? 0 : Math.round((used / most) * barWidth)
    const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
    const figures = `${String(used).padStart(6)} of ${most}`
    line(io, `  ${bucket.padEnd(9)} ${paint(io, bucket_truncations[bucket] ? 'yellow' : 'green', bar)} ${figures}`)
  }
  const { omissions, hidden, compiled_context_hash, content_hash } = { ...ledger, ...ledger.ambit }
  printFields(io, [
    [
      'left out',
      ...omissions.map(
        ({ block_id, bucket, reason, tokens }) => `${block_id} of ${bucket}: ${reason}, ${tokens} tokens`,
      ),
    ],
    ['tools', ledger.tools.join(', ')],
    ['hidden', ...hidden.map(({ capability_id, reason }) => `${capability_id}: ${reason}`)],
    [
      'controls',
      ...Object.entries(runtime_controls).flatMap(([name, ids]) =>
        ids.length > 0 ? `${name}: ${ids.join(', ')}` : [],
      ),
    ],
    ['warnings', ...ledger.ambit.warnings.map(({ message }) => plain(message))],
    ['content', content_hash],
    ['hash', compiled_context_hash],
  ])
}

const barWidth = 24
