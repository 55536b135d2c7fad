// The worked examples and refusals of `scenarios/`, asked in the process and over HTTP.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { canonical, type Json } from '../../src/base/canonical.ts'
import { problem } from '../../src/base/failure.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { contextPack } from '../../src/model/contract/pack.ts'
import { compiled, measure, offerOfStock, scenario, sourceOf } from '../support/contract.ts'
import { givenServer } from '../support/server.ts'
import { readProject } from '../support/source.ts'
import { givenTracer } from '../support/tracer.ts'

type Members = { readonly [name: string]: unknown }

interface Case {
  /** Merged into the request. */
  readonly ask?: Members
  readonly artifact?: Members
  /** The size that the request is padded to. */
  readonly bytes?: number
  /** Members of the pack by their place, which is then published under another version, and asked for; or only compiled. */
  readonly publish?: Members
  readonly compile?: Members
  readonly unsigned?: true
  readonly blocks?: readonly { readonly block_id: string; readonly priority: number; readonly tokens: number }[]
  readonly twice?: true
  readonly answer: Members & { readonly status: number }
  /** What a span says the hash of the attachment is. */
  readonly span?: string
}

interface Door {
  readonly compile: (body: Members) => Promise<Members>
  readonly sign: (document: unknown) => Promise<Members>
  readonly publish: (document: unknown, beside: string[]) => Promise<Members>
  readonly add: (artifact: Members) => Promise<Members>
  readonly textOf: (name: string) => string
}

/** An answer, or what is said of a failure: with the status that HTTP would have. */
const settled = (work: Promise<unknown>): Promise<Members> =>
  work.then(
    (body) => ({ status: 200, ...(body as Members) }),
    (error) => ({ ...problem(error) }),
  )

async function library(): Promise<Door> {
  const ambit = await createAmbit({ tenant: 'tenant_fjordvik', capabilities: offerOfStock() })
  onTestFinished(() => ambit.close())
  return {
    compile: ({ request, ...options }) => settled(ambit.compile(request as never, options)),
    sign: (document) => settled(ambit.packs.sign(document)),
    publish: (document, beside) => settled(ambit.packs.publish(document, { beside })),
    add: (artifact) => settled(ambit.artifacts.add(artifact as never)),
    textOf: scenario,
  }
}

async function http(): Promise<Door> {
  const server = await givenServer({ offer: { capabilities: offerOfStock() }, roots: ['acme'] })
  const key = await server.keyOf({ id: 'root', kind: 'user', roles: ['admin'] })
  const post = async (path: string, body: unknown): Promise<Members> => {
    const answered = await server.ask('POST', path, { key, body })
    return { status: answered.status, ...answered.body }
  }
  return {
    compile: (body) => post('/v1/compile', body),
    sign: (document) => post('/v1/packs/sign', { document }),
    publish: (document, beside) => post('/v1/packs', { document, beside }),
    add: (artifact) => post('/v1/artifacts', artifact),
    textOf: (name) => scenario(name).replaceAll('tenant_fjordvik', 'northlight'),
  }
}

const catalogRef = 'decision-catalog.stock@1.4.0'

async function givenPacks(open: () => Promise<Door>): Promise<Door> {
  const door = await open()
  for (const [name, beside] of [
    ['catalog.yaml', []],
    ['pack.yaml', [catalogRef]],
  ] as const) {
    const { document } = await door.sign(parse(door.textOf(name)))
    const published = await door.publish(document, [...beside])
    assert.equal(published['status'], 200, JSON.stringify(published))
  }
  return door
}

/** RFC 7396: what is null is left out. */
function merged(base: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch
  const out: Record<string, unknown> = { ...(isMembers(base) ? base : {}) }
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete out[name]
    else out[name] = merged(out[name], value)
  return out
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The pack with these places changed. */
function changed(pack: Members, places: Members): Members {
  const out = structuredClone(pack)
  for (const [place, value] of Object.entries(places)) {
    const names = place.split('/')
    const last = names.pop() ?? ''
    const parent = names.reduce<Members>((at, name) => at[name] as Members, out) as Record<string, unknown>
    if (value === null) delete parent[last]
    else parent[last] = value
  }
  return out
}

function padded({ request, ...rest }: Members, bytes: number | undefined): Members {
  if (bytes === undefined) return { request, ...rest }
  const { input } = request as { input: Members }
  const withMessage = (message: string) => ({ ...(request as Members), input: { ...input, message } })
  const missing = bytes - Buffer.byteLength(canonical(withMessage('') as Json))
  return { request: withMessage('x'.repeat(missing)), ...rest }
}

async function answerTo(door: Door, one: Case): Promise<Members> {
  if (one.artifact) assert.equal((await door.add(one.artifact))['status'], 200)
  if (one.publish) {
    const pack = changed(parse(door.textOf('pack.yaml')), { 'pack_meta/pack_version': '9.9.9', ...one.publish })
    if (one.unsigned) return door.publish(pack, [catalogRef])
    const signed = await door.sign(pack)
    if (signed['document'] === undefined) return signed
    const published = await door.publish(signed['document'], [catalogRef])
    if (one.ask === undefined) return published
    assert.equal(published['status'], 200, JSON.stringify(published))
  }
  if (one.compile) {
    const pack = contextPack.parse(changed(parse(scenario('pack.yaml')), one.compile))
    return settled(Promise.resolve().then(() => compiled({ pack })))
  }
  if (one.blocks) return settled(Promise.resolve(compiled({ facts: { sources: one.blocks.map(blockOf) } })))
  const { request, ...rest } = merged(parse(door.textOf('request.yaml')), one.ask ?? {}) as Members
  return door.compile(padded({ request, ...rest }, one.bytes))
}

/** A block that is charged with exactly so many tokens. */
function blockOf({ block_id, priority, tokens }: NonNullable<Case['blocks']>[number]) {
  const charged = (words: number) => {
    const source = sourceOf(block_id, 'word '.repeat(words), { priority })
    const made = compiled({ facts: { sources: [source] } })
    return { source, used: made.budget_report.tokens_used_by_bucket.evidence }
  }
  const wrapper = charged(100).used - measure('word '.repeat(100)).tokens
  for (let words = tokens - wrapper - 3; words <= tokens; words++)
    if (measure('word '.repeat(words)).tokens + wrapper === tokens)
      return sourceOf(block_id, 'word '.repeat(words), { priority })
  return assert.fail(`no text has ${tokens} tokens`)
}

/** Everything that the answer of the example says is in the answer that came. */
function assertSays(came: unknown, said: unknown, where: string): void {
  if (isMembers(said)) {
    for (const [name, value] of Object.entries(said))
      assertSays((came as Members | undefined)?.[name], value, `${where}/${name}`)
  } else if (where === '/remediation') assert.match(String(came), new RegExp(String(said)))
  else assert.deepEqual(came, said, where)
}

interface Example {
  readonly id: string
  readonly about: string
  readonly cases: readonly Case[]
}

const examplesOf = (name: string): readonly Example[] => parse(scenario(name)).examples
const doors = { library, HTTP: http }

describe.each(Object.entries(doors))(
  'asked through %s [R-13 R-14 R-16 R-19 R-20 R-21 R-31 R-32 R-33 R-60 R-62 R-63 R-64 R-65 R-66 R-67 R-70 R-71 R-116]',
  (_, open) => {
    test.each([...examplesOf('examples.yaml'), ...examplesOf('refusals.yaml')])('$id: $about', async ({ cases }) => {
      const seen = givenTracer()
      const door = await givenPacks(open)
      const held = new Set<unknown>()
      for (const one of cases) {
        const artifact = held.has(one.artifact?.['id']) ? undefined : one.artifact
        held.add(one.artifact?.['id'])
        const { artifact: _, ...rest } = one
        const came = await answerTo(door, { ...rest, ...(artifact && { artifact }) })
        assertSays(came, one.answer, '')
        if (one.twice) assert.equal(JSON.stringify(compiled()), await compiledElsewhere())
        if (one.span !== undefined)
          assert(
            seen.some(({ attributes, trace, ended }) => {
              const isOfRequest = trace === '4bf92f3577b34da6a3ce929d0e0e4736' && ended
              return isOfRequest && attributes['contextos.attachment.sha256'] === one.span
            }),
          )
      }
    })
  },
)

async function compiledElsewhere(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'compile-child.ts'),
    'plain',
  ])
  return stdout
}

test('the guide lists every worked example with what it is about [R-71]', () => {
  const guide = readProject().find(({ path }) => path.endsWith('guides/context-packs.md'))?.text ?? ''
  for (const { id, about } of examplesOf('examples.yaml')) assert(guide.includes(`| ${id} | ${about} |`), id)
})
