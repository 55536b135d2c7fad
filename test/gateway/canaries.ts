// Random capabilities whose sensitive places are known, and calls with a canary in each of them.

import { createHash } from 'node:crypto'
import type { Json } from '../../src/base/canonical.ts'
import { type Capability, defineCapability } from '../../src/gateway/capability.ts'
import type { ContextContract } from '../../src/model/context.ts'
import type { Policy } from '../../src/model/policy.ts'

/** Numbers that look random and are the same in every run. */
export function makeChance(seed: string) {
  let turn = 0
  const next = (): number => createHash('sha256').update(`${seed}/${turn++}`).digest().readUInt32BE() / 2 ** 32
  return {
    hex: (): string =>
      Math.floor(next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    one: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T,
    yes: (share = 0.5): boolean => next() < share,
    number: (): number => 100_000_000 + Math.floor(next() * 900_000_000),
  }
}
export type Chance = ReturnType<typeof makeChance>

/** What must turn up nowhere; `core` has no characters that any writing escapes. */
export interface Canary {
  readonly value: string | number
  readonly core: string
}

export function makeCanary(chance: Chance): Canary {
  if (chance.yes(0.15)) {
    const value = chance.number()
    return { value, core: String(value) }
  }
  const core = `canary${chance.hex()}${chance.hex()}`
  const shape = chance.one(['<>', '"<>"', 'a b/<>?x=1&y', 'tab\t<>', 'two\nlines <>', 'Ærø <> ☂', '<>'])
  return { value: shape.replace('<>', core), core }
}

/** The ways in which a handler may try to let a secret out. */
const leaks = [
  'none',
  'throw',
  'name',
  'code',
  'url',
  'json',
  'emit',
  'emit-key',
  'type',
  'deep',
  'console-free',
] as const
export type Leak = (typeof leaks)[number]

export const anyLeak = (chance: Chance): Leak => chance.one(leaks)

const sensitiveContext = (source: string) =>
  ({ source, schema: { type: ['string', 'number'] }, sensitive: true, required: false }) as const

const contract: ContextContract = {
  name: 'case',
  version: '1.0.0',
  identifies: 'the case',
  fields: {
    patient: { ...sensitiveContext('payload:/patient'), show_to_approver: true },
    nested: sensitiveContext('payload:/deep/inner'),
    whispered: { ...sensitiveContext('metadata:/context/whispered'), evidence: 'omit' },
    fetched: sensitiveContext('host:fetched'),
    note: {
      source: 'payload:/note',
      schema: { type: 'string' },
      evidence: 'value',
      show_to_approver: true,
      required: false,
    },
    level: { source: 'payload:/level', schema: { type: 'integer' }, evidence: 'value', read_by: ['levels'] },
  },
  example: { level: 1 },
}

export const levels: Policy = {
  name: 'levels',
  version: '1',
  applies_to: ['ward.*'],
  rules: [
    { id: 'allow', when: { '<': [{ var: 'context.level' }, 6] }, decision: 'allow' },
    {
      id: 'ask',
      when: { '==': [{ var: 'context.level' }, 6] },
      decision: 'requires_approval',
      approval: { roles: ['nurse'] },
    },
    { id: 'deny', when: { '>': [{ var: 'context.level' }, 6] }, decision: 'deny' },
  ],
}

const anyValue = { type: ['string', 'number'] } as const
const hidden = { ...anyValue, 'x-sensitive': true } as const

const inputOf = (strict: boolean) => ({
  type: 'object',
  properties: {
    level: { type: 'integer' },
    note: { type: 'string', ...(strict && { maxLength: 400 }) },
    patient: anyValue,
    marked: hidden,
    list: { type: 'array', items: hidden },
    deep: { type: 'object', properties: { inner: anyValue, marked: hidden } },
    password: anyValue,
    leak: { type: 'string' },
  },
})

/** A capability whose handler does with its secrets what it is told to. */
export function leaky(index: number, chance: Chance): Capability {
  const classified = chance.yes(0.1)
  return defineCapability(
    {
      id: `ward.c${index}`,
      version: '1.0.0',
      description: 'Looks after somebody.',
      modes: ['sync', 'stream', 'async'],
      policy: { ...(classified && { data_classification: 'confidential' }) },
      input: inputOf(chance.yes()),
      output: { type: 'object', properties: { result: { type: 'string', 'x-sensitive': true } } },
      context: contract,
      emits: ['ward_noted'],
      ...(chance.yes(0.3) && { effects: ['ward.change'] }),
      ...(chance.yes(0.2) && { assurance: { level: 'S2' as const } }),
    },
    async function* (input, call) {
      const given = input as { leak?: Leak }
      const secrets = [...secretsOf(input as Json), ...secretsOf(call.context as Json, contextSecrets)]
      yield { delta: secrets.join(' ') }
      for (const secret of secrets) letOut(given.leak ?? 'none', secret, call.emit)
      return { result: `receipt-${secrets.join('-')}`, note: 'done' }
    },
  )
}

const payloadSecrets = new Set(['patient', 'marked', 'password', 'inner', 'list'])
const contextSecrets = new Set(['patient', 'nested', 'whispered', 'fetched'])

function secretsOf(value: Json | undefined, names = payloadSecrets, inside = false): string[] {
  if (typeof value === 'string' || typeof value === 'number') return inside ? [String(value)] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => secretsOf(member, names, inside || names.has(name)))
}

function letOut(leak: Leak, secret: string, emit: (type: string, payload: { [key: string]: Json }) => void): void {
  if (leak === 'throw') throw new Error(`cannot find ${secret} in ${'x'.repeat(960)}${secret}`)
  if (leak === 'name') throw Object.assign(new Error('no'), { name: secret })
  if (leak === 'code') throw Object.assign(new Error('no'), { code: secret })
  if (leak === 'url') throw new Error(`GET https://ward.example/?who=${encodeURIComponent(secret)} failed`)
  if (leak === 'json') throw new Error(`bad body ${JSON.stringify({ who: secret })}`)
  if (leak === 'emit') emit('ward_noted', { who: secret, text: `about ${secret}.`, level: Number(secret) || 0 })
  if (leak === 'emit-key') emit('org.example.ward.noted', { [secret]: true, list: [[secret]] })
  if (leak === 'type' && /^\w+$/.test(secret)) emit(`org.example.${secret}`, {})
  if (leak === 'deep') emit('ward_noted', { a: { b: [{ c: `receipt-${secret}`, d: secret }] } })
}
