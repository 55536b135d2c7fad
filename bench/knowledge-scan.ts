import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { makeScanner, type Scanner } from '../src/runtime/knowledge/scan.ts'
import { atLeast, type Bench, byTurns, median, type Row, rate } from './measure.ts'

const packs = 10_000
const rounds = 3

/** Packs in one tree, found cold and cached, beside a plain walk that reads every file, and one that parses each as YAML. */
const bench: Bench = async () => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'ambit-bench-')))
  try {
    makePacks(top)
    const cold = () => rate(packs, () => scan(makeScanner(), top))
    // Nothing counts as just written, or it would be read again.
    const warm = makeScanner({ now: () => Date.now() + 60_000 })
    await scan(warm, top)
    const cached = () => rate(packs, () => scan(warm, top))
    const plain = async () => rate(packs, () => walk(top, (text) => text.length))
    const parsed = async () => rate(packs, () => walk(top, (text) => parse(text.split('---\n')[1] ?? '')))
    await cold()
    const beside = { limit: await byTurns(rounds, cold, plain), peer: await byTurns(rounds, cold, parsed) }
    return [
      atLeast('scan, 10,000 packs, cold', 'packs/s', 'plain readdir and readFile', 0.2, beside.limit),
      atLeast('scan, 10,000 packs, cold', 'packs/s', 'the same with `yaml` for each', 1, beside.peer),
      atLeast(
        'scan, 10,000 packs, cached',
        'packs/s',
        'plain readdir and readFile',
        1,
        await byTurns(rounds, cached, plain),
      ),
      await within('scan, 10,000 packs, cold', 3_000, cold),
      await within('scan, 10,000 packs, cached', 300, cached),
    ]
  } finally {
    rmSync(top, { recursive: true })
  }
}
export default bench

/** A row whose goal is a time. */
async function within(name: string, goalMs: number, work: () => Promise<number>): Promise<Row> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push((packs / (await work())) * 1000)
  const ours = median(times)
  return {
    name,
    unit: 'ms',
    ours,
    peer: goalMs,
    peerName: 'goal',
    ratio: goalMs / ours,
    goal: `≤ ${goalMs} ms`,
    met: ours <= goalMs,
  }
}

async function scan(scanner: Scanner, path: string): Promise<void> {
  const found = await scanner.scan([{ id: 'w', scope: 'workspace', path }])
  if (found.packs.length !== packs) throw new Error(`found ${found.packs.length} of ${packs} packs`)
}

function walk(folder: string, use: (text: string) => unknown): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) walk(path, use)
    else use(readFileSync(path, 'utf8'))
  }
}

function makePacks(top: string): void {
  const body = `# Guide\n\n${'One sentence of a guide that nobody reads yet. '.repeat(40)}\n`
  for (let n = 0; n < packs; n++) {
    const folder = join(top, `group-${n % 100}`, `pack-${n}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'KNOWLEDGE.md'), `---\n${frontmatter(n)}---\n${body}`)
  }
}

const frontmatter = (n: number): string => `name: pack-${n}
description: What is known of subject ${n}, its limits and its parts; use it for questions about subject ${n}.
type: domain-reference
status: ready
profile: document-first
runtime:
  mode: data
trust: user-confirmed
grounding: recommended
version: 1.${n}.0
language: en
updated: 2026-01-02
maintainers:
  - Owner ${n % 7}
metadata:
  primaryDocument: documents/subject.md
`
