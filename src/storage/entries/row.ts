import type { JsonObject } from '../../base/object.ts'
import { entries } from '../schema.ts'
import type { Row, Value } from '../work.ts'

/** What a provider keeps, in whatever state it is. */
export interface StoredEntry {
  /** The kind of the provider. */
  readonly collection: string
  readonly entry_id: string
  readonly scope: string
  readonly state: 'active' | 'superseded' | 'forgotten'
  readonly content: string
  /** Null in a log: there equal entries stay, and are not looked up by words. */
  readonly content_hash: string | null
  readonly topics: readonly string[]
  readonly body: JsonObject
  readonly agent_id: string
  readonly run_id: string
  readonly created_at: string
  readonly updated_at: string
  /** The entry that superseded it. */
  readonly replaced_by: string | null
  readonly expires_at_ms: number | null
}

const names = Object.keys(entries.columns).slice(1) as (keyof StoredEntry)[]

export const entryColumns = names.map((name) => `e.${name}`).join(', ')

export const entryOf = (row: Row): StoredEntry =>
  Object.fromEntries(names.map((name) => [name, isJson(name) ? JSON.parse(String(row[name])) : row[name]])) as never

export const valuesOf = (entry: StoredEntry): Value[] =>
  names.map((name) => (isJson(name) ? JSON.stringify(entry[name]) : (entry[name] as Value)))

const isJson = (name: keyof StoredEntry): boolean => name === 'topics' || name === 'body'
