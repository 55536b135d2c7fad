import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import MiniSearch from 'minisearch'
import { type Knowledge, openKnowledge } from '../src/runtime/knowledge/index.ts'
import { type Bench, median, type Row } from './measure.ts'

/** A whole resolution over packs on the disk, warm: scan, activate, select, read, wrap; beside it the search alone of a search library. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  try {
    for (let n = 0; n < 50; n++) writePack(join(folder, 'many', nameOf(n)), n, sectionsOf(n, 40))
    for (let n = 0; n < 49; n++) writePack(join(folder, 'large', nameOf(n)), n, sectionsOf(n, 40))
    writePack(join(folder, 'large', nameOf(49)), 49, sectionsOf(49, 26_000))
    return [
      await compare('resolve, 50 packs, warm', 5, join(folder, 'many')),
      await compare('resolve, one document of 5 MB among them, warm', 50, join(folder, 'large')),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
export default bench

const things = 'pump valve boiler filter motor cable sensor alarm pallet truck'.split(' ')
const kinds = 'marine garden hospital mining desert'.split(' ')
const topics = 'heat pressure noise weight price service warranty colour'.split(' ')
const nameOf = (n: number): string => `${kinds[n % 5]}-${things[Math.floor(n / 5)]}`
const said = (n: number): string => nameOf(n).replace('-', ' ')

const sectionsOf = (n: number, count: number): string =>
  Array.from(
    { length: count },
    (_, at) =>
      `## ${topics[at % 8]} of part ${at}\n\nPart ${at} of the ${said(n)} has its own ${topics[at % 8]}: the limit is ${at * 7 + n}, as measured in the plant and written down by those who were there.\n`,
  ).join('\n')

function writePack(folder: string, n: number, text: string): void {
  const description = `The ${said(n)}: heat, pressure, noise, weight, price, service. Use for questions about the ${said(n)}.`
  const header = `---\nname: ${nameOf(n)}\ndescription: "${description}"\ntype: domain-reference\nstatus: ready\nprofile: document-first\ntrust: official\nmetadata:\n  primaryDocument: documents/all.md\n---\n\n# Guide\n`
  const past = new Date(Date.now() - 60_000)
  for (const [name, content] of [
    ['KNOWLEDGE.md', header],
    ['documents/all.md', `# ${said(n)}\n\n${text}`],
  ] as const) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    utimesSync(file, past, past)
  }
}

const questionsOf = (n: number): string =>
  `What is the ${topics[n % 8]} limit of part ${n % 40} of the ${said(n % 50)}?`

async function compare(name: string, msMax: number, folder: string): Promise<Row> {
  const knowledge = openKnowledge({ roots: [{ path: folder, scope: 'organisation' }] })
  const search = searchOver(folder)
  await run(knowledge, 300)
  const ours = median(await run(knowledge, 100))
  const times = Array.from({ length: 15 }, (_, n) => timed(() => search.search(questionsOf(n))))
  const peer = median(times.slice(5))
  return {
    name,
    unit: 'ms',
    ours,
    peer,
    peerName: 'MiniSearch, search alone',
    ratio: ours / peer,
    goal: `< ${msMax} ms`,
    met: ours < msMax,
  }
}

async function run(knowledge: Knowledge, count: number): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    // Half of the questions are about the last pack, which may be the large one.
    const about = n % 2 === 0 ? 49 + 50 * n : n
    const start = performance.now()
    const { trace } = await knowledge.resolve({ query: questionsOf(about), budget: 800 })
    times.push(performance.now() - start)
    if (trace.activated[0]?.name !== nameOf(about % 50))
      throw new Error(`${questionsOf(about)} found ${JSON.stringify(trace.activated[0]?.name)}`)
  }
  return times
}

function searchOver(folder: string): MiniSearch {
  const search = new MiniSearch({ fields: ['text'] })
  for (const pack of readdirSync(folder)) {
    const parts = readFileSync(join(folder, pack, 'documents/all.md'), 'utf8').split('\n## ')
    search.addAll(parts.map((text, at) => ({ id: `${pack}#${at}`, text: `${pack} ${text}` })))
  }
  return search
}

function timed(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
