import type { StoredEntry } from '../../model/requests.ts'
import { entries } from '../schema.ts'
import type { Row, Value } from '../work.ts'

const names = Object.keys(entries.columns).slice(1) as (keyof StoredEntry)[]

export const entryColumns = names.map((name) => `e.${name}`).join(', ')

export const entryOf = (row: Row): StoredEntry =>
  Object.fromEntries(names.map((name) => [name, isJson(name) ? JSON.parse(String(row[name])) : row[name]])) as never

export const valuesOf = (entry: StoredEntry): Value[] =>
  names.map((name) => (isJson(name) ? JSON.stringify(entry[name]) : (entry[name] as Value)))

const isJson = (name: keyof StoredEntry): boolean => name === 'topics' || name === 'body'
