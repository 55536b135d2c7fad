import assert from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { z } from 'zod'
import { emptySchema } from '../../test/storage/target.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { storeInMemory } from '../../test/support/resources.ts'
import { openPostgres } from '../storage/drivers/postgres.ts'
import { openStore } from '../storage/store.ts'
import { providerContract } from '../testing/index.ts'
import { defineProvider, type Provider } from './define.ts'
import { memory } from './memory.ts'
import { scratchpad } from './scratchpad.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

const text = (content: string) => ({ content })
const ofMemory = {
  provider: memory,
  read: { tool: 'read', input: { limit: 50 } },
  write: { tool: 'write', input: text },
}
const open = storeInMemory

describe('memory keeps the contract of providers [G-50]', () => {
  providerContract({ test, open, ...ofMemory })
})

describe('memory that looks down and not up keeps it [G-50]', () => {
  providerContract({ test, open, ...ofMemory, config: { readUp: false, includeBelow: true } })
})

describe('the scratchpad keeps it [G-50]', () => {
  const read = { tool: 'read', input: { limit: 50 } }
  providerContract({ test, open, provider: scratchpad, read, write: { tool: 'append', input: text } })
})

describe.skipIf(server === undefined)('memory keeps it on PostgreSQL [G-50]', () => {
  const inPostgres = async () => {
    const store = await openStore(openPostgres({ url: await emptySchema(server) }))
    return { store, close: () => store.close() }
  }
  providerContract({ test, open: inPostgres, ...ofMemory })
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
    prompt: async ({ store }) => {
      const topics = await store.topics()
      return { result: topics.map(({ topic, count }) => `${count} notes on ${topic}`).join('\n'), scopes: [] }
    },
  })

describe('a provider of forty lines keeps it [G-50]', () => {
  const write = { tool: 'take', input: (note: string) => ({ note }) }
  providerContract({ test, open, provider: notes, config: { about: 'depots' }, read: { tool: 'list' }, write })
})

test('a provider that remembers by itself, whatever it is granted, is found out by the contract [G-48 G-50]', async () => {
  let all: unknown[] = []
  const hoarder = (): Provider => {
    all = []
    const { tools, ...rest } = memory()
    const [read, write] = [tools['read'], tools['write']]
    assert(read !== undefined && write !== undefined)
    const hoarding = { ...write, run: (input: unknown) => ({ result: all.push(input), scopes: [] }) }
    return {
      ...rest,
      tools: { write: hoarding, read: { ...read, run: () => ({ result: [...all] as never, scopes: [] }) } },
    }
  }
  assert.deepEqual(await failuresOf(memory), [])
  assert.deepEqual(await failuresOf(hoarder), [
    'what is kept under a grant is read under it, and by no one whom it is out of reach for',
    'another tenant with the same grants reads nothing of it',
    'what a call stages is kept with its outcome or not at all',
  ])
})

/** Runs the contract without a runner, and collects what fails. */
async function failuresOf(provider: () => Provider): Promise<string[]> {
  const rules: [title: string, body: () => Promise<void>][] = []
  providerContract({ test: (title, body) => rules.push([title, body]), open, ...ofMemory, provider })
  const failed: string[] = []
  for (const [title, body] of rules) await body().catch(() => failed.push(title.replace(/ \[.*/, '')))
  return failed
}
