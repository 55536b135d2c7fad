import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { z } from 'zod'
import { folder, makeTree } from '../../test/knowledge/tree.ts'
import { emptySchema } from '../../test/storage/target.ts'
import { writePackIn } from '../../test/support/knowledge.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { sha256 } from '../base/hash.ts'
import { openKnowledge } from '../runtime/knowledge/knowledge.ts'
import { knowledgeSource } from '../runtime/knowledge/provider.ts'
import { openPostgres } from '../storage/drivers/postgres.ts'
import { openStore } from '../storage/store.ts'
import { type ProviderSuite, providerContract } from '../testing/index.ts'
import { scopes } from '../testing/provider/given.ts'
import { defineProvider, type Provider } from './define.ts'
import { files } from './files.ts'
import { type KnowledgeSource, knowledge } from './knowledge.ts'
import { memory } from './memory.ts'
import type { EraseRequest, ResourceToolContext } from './provider.ts'
import { scratchpad } from './scratchpad.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

type Of = Omit<ProviderSuite, 'test' | 'open'>

const text = (content: string) => ({ content })
const ofMemory: Of = {
  provider: memory,
  read: { tool: 'read', input: { limit: 50 } },
  write: { tool: 'write', input: text },
}
const ofScratchpad: Of = {
  provider: scratchpad,
  read: { tool: 'read', input: { limit: 50 } },
  write: { tool: 'append', input: text },
}
/** A file for each text; a search finds them all. */
const ofFiles: Of = {
  provider: () => files({ root: makeTree({ data: folder }) }),
  read: { tool: 'search', input: { query: 'line: ', limit: 200 } },
  write: { tool: 'write', input: (line) => ({ path: `${sha256(line)}.md`, content: `line: ${line}` }) },
}

/** Packs of two tenants at every scope of the contract: what is to be kept is what a pack says of itself. */
function ofKnowledge(): Of {
  let top = ''
  const place = (tenant: string, scope: string) => join(tenant, String(scopes.indexOf(scope)))
  const open = (tenant: string): KnowledgeSource => {
    const roots = scopes.map((at, index) => ({ id: `at-${index}`, at, path: join(top, place(tenant, at)) }))
    return knowledgeSource(openKnowledge({ roots: roots.map((root) => ({ ...root, scope: 'organisation' })) }))
  }
  return {
    provider: () => {
      const tenants = ['acme', 'other']
      const folders = tenants.flatMap((tenant) => scopes.map((scope) => [place(tenant, scope), folder] as const))
      top = makeTree(Object.fromEntries(folders))
      const sources = new Map(tenants.map((tenant) => [tenant, open(tenant)]))
      const ofTenant = (session: string) => sources.get((JSON.parse(session) as string[])[0] ?? '')
      return knowledge({
        view: (reach, session) => ofTenant(session)?.view(reach, session) ?? assert.fail(`no tenant of ${session}`),
      })
    },
    read: { tool: 'catalog' },
    write: async ({ tenant, scope }, description) =>
      writePackIn(join(top, place(tenant, scope)), `pack-${sha256(scope + description).slice(0, 8)}`, { description }),
  }
}

describe('memory keeps the contract of providers [G-50]', () => {
  providerContract({ test, ...ofMemory })
})

describe('memory that looks down and not up keeps it [G-50]', () => {
  providerContract({ test, ...ofMemory, config: { readUp: false, includeBelow: true } })
})

describe('the scratchpad keeps it [G-50]', () => {
  providerContract({ test, ...ofScratchpad })
})

describe('files keep it [G-50]', () => {
  providerContract({ test, ...ofFiles })
})

describe('knowledge packs keep it [G-50]', () => {
  providerContract({ test, ...ofKnowledge() })
})

describe.skipIf(server === undefined).each([
  ['memory', ofMemory],
  ['the scratchpad', ofScratchpad],
] as const)('%s keeps it on PostgreSQL [G-50]', (_, suite) => {
  const open = async () => {
    const store = await openStore(openPostgres({ url: await emptySchema(server) }))
    return { store, close: () => store.close() }
  }
  providerContract({ test, open, ...suite })
})

/** All that is needed for a provider of one's own. */
const notes = (): Provider =>
  defineProvider({
    kind: 'notes',
    maxMode: 'read-write',
    reads: ['at', 'down'],
    writes: ['at'],
    config: z.strictObject({ about: z.string() }),
    tools: {
      list: {
        description: 'Lists the notes on one thing, newest first.',
        run: async (_, { config, store }) => {
          const { entries } = await store.find({ topics: [config.about] })
          return { result: entries.map(({ content }) => content), scopes: entries.map(({ scope }) => scope) }
        },
      },
      take: {
        description: 'Takes a note.',
        mode: 'read-write',
        input: z.strictObject({ note: z.string() }),
        run: ({ note }, { config, grants, store }) => {
          const scope = String(grants[0])
          return { result: store.add({ scope, content: note, topics: [config.about] }), scopes: [scope] }
        },
      },
    },
  })

describe('a provider of forty lines keeps it [G-50]', () => {
  const write = { tool: 'take', input: (note: string) => ({ note }) }
  providerContract({ test, provider: notes, config: { about: 'depots' }, read: { tool: 'list' }, write })
})

interface Pin {
  readonly tenant: string
  readonly scope: string
  readonly pin: string
}

interface Board {
  /** The pins that a call may see, and where it puts a new one. */
  readonly seen: (pin: Pin, context: ResourceToolContext) => boolean
  readonly place: (context: ResourceToolContext) => string
  readonly effects: readonly string[]
  readonly isErased: (pin: Pin, request: EraseRequest) => boolean
}

const isWithin = (scope: string, grant: string): boolean => scope === grant || scope.startsWith(`${grant}/`)
const honest: Board = {
  seen: ({ tenant, scope }, { grants, run }) =>
    tenant === run.tenantId && grants.some((grant) => isWithin(scope, grant)),
  place: ({ grants }) => String(grants[0]),
  effects: ['pins.keep'],
  isErased: ({ tenant, scope }, request) =>
    tenant === request.tenantId && (request.recursive ? isWithin(scope, request.scope) : scope === request.scope),
}

/** A provider that keeps its data itself, and looks after the grants alone. */
const board = (cheat: Partial<Board> = {}): Of => ({
  read: { tool: 'read' },
  write: { tool: 'pin', input: (pin) => ({ pin }) },
  provider: () => {
    const { seen, place, effects, isErased } = { ...honest, ...cheat }
    let pins: Pin[] = []
    return defineProvider({
      kind: 'board',
      maxMode: 'read-write',
      reads: ['at', 'down'],
      writes: ['at'],
      erase: async (request) => {
        const before = pins.length
        pins = pins.filter((pin) => !isErased(pin, request))
        return { pins: before - pins.length }
      },
      tools: {
        read: {
          description: 'Reads the pins.',
          run: (_, context) => {
            const found = pins.filter((each) => seen(each, context))
            return { result: found.map(({ pin }) => pin), scopes: found.map(({ scope }) => scope) }
          },
        },
        pin: {
          description: 'Pins a text.',
          mode: 'read-write',
          effects,
          input: z.strictObject({ pin: z.string() }),
          run: ({ pin }, context) => {
            const scope = place(context)
            pins.push({ tenant: context.run.tenantId, scope, pin })
            return { result: pins.length, scopes: [scope] }
          },
        },
      },
    })
  },
})

describe('a provider that keeps its data itself keeps it [G-50]', () => {
  providerContract({ test, ...board() })
})

const reach = 'what is kept under a grant is read under it, and by no one whom it is out of reach for'
const tenants = 'another tenant with the same grants reads nothing of it'
const erasing = 'what is kept elsewhere is erased with its scope, and nothing beside it'
const outcome = 'what a call stages is kept with its outcome or not at all'

test.each<[what: string, cheat: Partial<Board>, foundBy: readonly string[]]>([
  ['looks at its tenant alone', { seen: ({ tenant }, { run }) => tenant === run.tenantId }, [reach]],
  [
    'does not look at the tenant',
    { seen: ({ scope }, { grants }) => grants.some((each) => isWithin(scope, each)) },
    [tenants],
  ],
  [
    'compares paths by their letters',
    { seen: (pin, { grants, run }) => pin.tenant === run.tenantId && pin.scope.startsWith(String(grants[0])) },
    [reach],
  ],
  [
    'takes large letters for small ones',
    {
      seen: (pin, context) =>
        honest.seen({ ...pin, scope: pin.scope.toLowerCase() }, context) || honest.seen(pin, context),
    },
    [reach],
  ],
  ['writes one node above its grant', { place: ({ grants }) => String(grants[0]).replace(/\/[^/]*$/, '') }, [reach]],
  ['does not say that it keeps data elsewhere', { effects: [] }, [outcome]],
  ['erases nothing', { isErased: () => false }, [erasing]],
  ['erases for all tenants', { isErased: ({ scope }, request) => isWithin(scope, request.scope) }, [erasing]],
])('a provider that %s is found out by the contract [G-48 G-50]', async (_, cheat, foundBy) => {
  const failures = await failuresOf(board(cheat))
  for (const rule of foundBy) assert(failures.includes(rule), failures.join('\n'))
})

/** Runs the contract without a runner, and collects what fails. */
async function failuresOf(suite: Of): Promise<string[]> {
  const rules: [title: string, body: () => Promise<void>][] = []
  providerContract({ test: (title, body) => rules.push([title, body]), ...suite })
  const failed: string[] = []
  for (const [title, body] of rules) await body().catch(() => failed.push(title.replace(/ \[.*/, '')))
  return failed
}
