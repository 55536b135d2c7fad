import { canonical, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isJsonObject, type JsonObject } from '../base/object.ts'
import { type Condition, holds, lookUp, type Path, parseCondition, parsePath, syntax } from './condition.ts'
import { below, type Place } from './place.ts'

/** Text with places for values, parsed once. */
export type TextTemplate = readonly Part[]

type Part = string | { readonly path: Path } | Block

interface Block {
  readonly condition: Condition
  readonly parts: Part[]
}

/** A JSON value with text templates in it. One that is nothing but a placeholder stands for the value itself. */
export type ValueTemplate =
  | { readonly constant: Json }
  | { readonly path: Path }
  | { readonly parts: TextTemplate }
  | { readonly items: readonly ValueTemplate[] }
  | { readonly members: readonly (readonly [name: string, value: ValueTemplate])[] }

/** Reads `{{path}}` and `{{#if condition}}…{{/if}}`; all else is text. */
export function parseText(source: string, at: Place): TextTemplate {
  const root: Part[] = []
  const open: Block[] = []
  for (const [index, piece] of source.split(/\{\{([^{}]*)\}\}/).entries()) {
    const parts = open.at(-1)?.parts ?? root
    const tag = piece.trim()
    if (index % 2 === 0) parts.push(...readPlain(piece, at))
    else if (tag.startsWith('#')) open.push(openBlock(tag, open.length, at))
    else if (tag === '/if') closeBlock(open, root, at)
    else parts.push({ path: parsePath(tag, at) })
  }
  if (open.length > 0) throw syntax(at, 'a `{{#if}}` is not closed by `{{/if}}`')
  return root
}

export function parseValue(value: Json, at: Place): ValueTemplate {
  if (typeof value === 'string') return parseString(value, at)
  if (Array.isArray(value)) return { items: value.map((item: Json, index) => parseValue(item, below(at, index))) }
  if (!isJsonObject(value)) return { constant: value }
  return {
    members: Object.entries(value).map(([name, member]) => [name, parseValue(member ?? null, below(at, name))]),
  }
}

/** Fails with `run.limit` when the text would become too long. */
export const renderText = (template: TextTemplate, data: JsonObject): string =>
  writeText(template, data, { left: limits.stateBytesMax })

export const renderValue = (template: ValueTemplate, data: JsonObject): Json =>
  writeValue(template, data, { left: limits.stateBytesMax })

/** A text as it is, anything else as JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : canonical(value))

function readPlain(text: string, at: Place): readonly string[] {
  if (text.includes('{{')) throw syntax(at, `\`{{\` is not closed at ${quote(text.slice(text.indexOf('{{')))}`)
  return text === '' ? [] : [text]
}

function openBlock(tag: string, depth: number, at: Place): Block {
  if (depth === limits.conditionDepthMax) throw syntax(at, `\`{{#if}}\` is nested deeper than ${depth} levels`)
  if (!/^#if\s/.test(tag)) throw syntax(at, `\`#if\` and a condition were expected at ${quote(tag)}`)
  return { condition: parseCondition(tag.slice(3), at, 'bare'), parts: [] }
}

function closeBlock(open: Block[], root: Part[], at: Place): void {
  const block = open.pop()
  if (block === undefined) throw syntax(at, '`{{/if}}` closes nothing')
  const parts = open.at(-1)?.parts ?? root
  parts.push(block)
}

function parseString(source: string, at: Place): ValueTemplate {
  const parts = parseText(source, at)
  const [first = ''] = parts
  if (parts.length === 1 && typeof first === 'object' && 'path' in first) return first
  return parts.every((part) => typeof part === 'string') ? { constant: source } : { parts }
}

/** How many bytes may still be written. */
interface Room {
  left: number
}

function take(text: string, room: Room): string {
  room.left -= Buffer.byteLength(text)
  if (room.left < 0) throw new Failure('run.limit', `what a template makes goes beyond ${limits.stateBytesMax} bytes`)
  return text
}

function writeText(template: TextTemplate, data: JsonObject, room: Room): string {
  let out = ''
  for (const part of template) {
    if (typeof part === 'string') out += take(part, room)
    else if ('path' in part) out += take(asText(lookUp(part.path, data) ?? ''), room)
    else if (holds(part.condition, data)) out += writeText(part.parts, data, room)
  }
  return out
}

function writeValue(template: ValueTemplate, data: JsonObject, room: Room): Json {
  if ('parts' in template) return writeText(template.parts, data, room)
  if ('items' in template) return template.items.map((item) => writeValue(item, data, room))
  if ('members' in template)
    return Object.fromEntries(
      template.members.map(([name, value]) => [take(name, room), writeValue(value, data, room)]),
    )
  const value = 'path' in template ? (lookUp(template.path, data) ?? null) : template.constant
  take(canonical(value), room)
  return value
}
