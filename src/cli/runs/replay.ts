import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { counted, shortened } from '../../base/words.ts'
import type { ComparedDecision, ReplayReport } from '../../model/contract/replay.ts'
import { operationAt, type View } from '../operation-command.ts'
import { readDocument } from '../packs/read.ts'
import { found, type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

type Compared = { readonly decisions: readonly ComparedDecision[] }

const view: View = {
  summary: 'decide recorded runs again from their records: one as it was, or all of a pack with another version of it',
  input: {
    document: false,
    pack: ['--pack <ref>', 'a version that is published, such as ctxpack.desk@1.3.0'],
  },
  own: (command) =>
    void command
      .argument('[run]', 'one run: is it equal, and if not, where does it first differ')
      .option('--file <file>', 'in place of --pack a pack in a file, neither published nor signed'),
  help: 'Nothing runs and nothing is written. Exit 0: equal, or unchanged. 1: something differs or cannot be told. 2: usage.',
  complete: async (io, { command, options }) => {
    const [run] = command.processedArgs
    const isOne = run !== undefined
    if (isOne === (options['pack'] !== undefined || options['file'] !== undefined))
      throw new Failure('field.missing', 'name a run, or a pack with `--pack` or `--file`', {}, undefined)
    return options['file'] === undefined ? {} : { document: await readDocument(io, String(options['file'])) }
  },
  perform: async (compare, { command, ambit, input }, io) => {
    const [run] = command.processedArgs
    const answer = run === undefined ? await compare(input) : await ambit.replay.run(String(run))
    if (isDifferent(answer as unknown as ReplayReport | Compared)) found(io)
    return answer as never
  },
  print: (io, answer) => {
    const said = answer as unknown as ReplayReport | Compared
    'decisions' in said ? printCompared(io, said.decisions) : printReplay(io, said)
  },
}

export default operationAt(['replay', 'compare'], view)

const isDifferent = (said: ReplayReport | Compared): boolean =>
  'decisions' in said ? said.decisions.some(({ verdict }) => verdict !== 'unchanged') : said.status !== 'replay_equal'

function printReplay(io: Io, { run_id, status, diffs }: ReplayReport): void {
  const [first] = diffs
  if (first === undefined) {
    line(io, `${paint(io, 'green', 'equal')}  ${run_id} comes to the same again`)
    return
  }
  const step = first.step === undefined ? '' : ` of ${first.step}`
  line(io, `${paint(io, 'red', 'differs')}  ${run_id}, first in ${plain(`${first.stage}${step}`)} (${status})`)
  printColumns(io, diffs, '', {
    KIND: ({ kind }) => kind,
    STAGE: ({ stage, step }) => (step === undefined ? stage : `${stage} ${step}`),
    PLACE: ({ pointer }) => pointer,
    RECORDED: ({ recorded }) => shownAs(recorded),
    REPLAYED: ({ replayed }) => shownAs(replayed),
  })
}

const shownAs = (value: Json | undefined): string => shortened(JSON.stringify(value ?? null), 40)

function printCompared(io: Io, decisions: readonly ComparedDecision[]): void {
  const of = (verdict: ComparedDecision['verdict']) => decisions.filter((each) => each.verdict === verdict).length
  const sums = `${of('unchanged')} unchanged, ${of('changed')} would change, ${of('undecidable')} cannot be told`
  line(io, `${counted(decisions.length, 'decision')}: ${sums}`)
  const shown = decisions.filter(({ verdict }) => verdict !== 'unchanged')
  if (shown.length === 0) return
  line(io)
  printColumns(io, shown, 'none', {
    RUN: ({ run_id }) => run_id,
    TIME: ({ at }) => at,
    WHAT: ({ field }) => field ?? '?',
    FROM: ({ from }) => (from === undefined ? '' : shownAs(from)),
    TO: ({ to, missing = [] }) => (to === undefined ? `needs ${missing.join(', ')}` : shownAs(to)),
    STAGE: ({ first_stage = '' }) => first_stage,
    BY: ({ rule_ids = [] }) => rule_ids.join(', '),
  })
}
