import type { InnerElement, OuterElement } from './elements.ts'
import { inner, outer, unescapeValue, writeHead, writeInner, writeTail } from './elements.ts'
import { tagsIn } from './lookalikes.ts'

/** A fence as it stands in a text, from `start` up to `end`; `text` is the disarmed content. */
export interface ReadFence {
  readonly element: OuterElement
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  /** What an element holds that holds parts; empty for the others. */
  readonly parts: readonly ReadPart[]
  readonly start: number
  readonly end: number
}

export interface ReadPart {
  readonly element: InnerElement
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
}

export type FenceReading =
  | { readonly ok: true; readonly fences: readonly ReadFence[] }
  | { readonly ok: false; readonly at: number; readonly problem: FenceProblem }

/** The tag or notice is not ours; the end is missing; the content holds its own boundary, or a tag that is not ours. */
export type FenceProblem = 'head' | 'end' | 'content'

/**
 * The fences of a text, and nothing but them: whatever could be taken for one of our elements must be part of a fence
 * exactly as `fence` writes it, closed by its own boundary. Anything else fails the whole text.
 */
export function readFences(text: string): FenceReading {
  const fences: ReadFence[] = []
  let end = 0
  for (const { start } of tagsIn(text)) {
    if (start < end) continue
    const fence = readFence(text, start)
    if (typeof fence === 'string') return { ok: false, at: start, problem: fence }
    fences.push(fence)
    end = fence.end
  }
  return { ok: true, fences }
}

const openTag = /<([a-z_]+)((?: [a-z]+="[^"]*")*)>/y

function readFence(text: string, start: number): ReadFence | FenceProblem {
  const tag = matchAt(openTag, text, start)
  const element = tag?.[1] ?? ''
  const attributes = readAttributes(tag?.[2] ?? '')
  if (!isOuter(element) || !isEdge(text, start - 1)) return 'head'
  const head = writeHead(element, attributes)
  const { boundary = '' } = attributes
  if (!text.startsWith(head, start) || !/^[0-9a-f]{24}$/.test(boundary)) return 'head'

  const from = start + head.length
  const tail = writeTail(element, boundary)
  const to = text.indexOf(tail, from)
  if (to < 0 || !isEdge(text, to + tail.length)) return 'end'

  const content = text.slice(from, to)
  const parts = outer[element].holds === 'parts' ? readParts(content) : tagsIn(content).length === 0 ? [] : undefined
  if (parts === undefined || content.includes(boundary)) return 'content'
  return { element, attributes, text: content, parts, start, end: to + tail.length }
}

function readParts(content: string): readonly ReadPart[] | undefined {
  const parts: ReadPart[] = []
  for (let at = 0; content !== ''; at++) {
    const part = readPart(content, at)
    if (part === undefined) return undefined
    parts.push(part)
    at += writeInner(part.element, part.attributes, part.text).length
    if (at === content.length) break
    if (content[at] !== '\n') return undefined
  }
  return parts
}

/** Undefined unless the part, written again, gives the same text. */
function readPart(content: string, at: number): ReadPart | undefined {
  const tag = matchAt(openTag, content, at)
  const element = tag?.[1] ?? ''
  if (tag === undefined || !isInner(element)) return undefined
  const end = content.indexOf(`</${element}>`, at)
  const inside = content.slice(at + tag[0].length, end)
  const text = inner[element].form === 'block' ? inside.slice(1, -1) : unescapeValue(inside)
  const part = { element, attributes: readAttributes(tag[2] ?? ''), text }
  return content.startsWith(writeInner(element, part.attributes, text), at) && tagsIn(inside).length === 0
    ? part
    : undefined
}

const readAttributes = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, unescapeValue(value)]),
  )

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

const isEdge = (text: string, at: number): boolean => at < 0 || at >= text.length || text[at] === '\n'
const isOuter = (element: string): element is OuterElement => Object.hasOwn(outer, element)
const isInner = (element: string): element is InnerElement => Object.hasOwn(inner, element)
