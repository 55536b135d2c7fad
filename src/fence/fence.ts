import assert from 'node:assert/strict'
import { digestUnder, sha256 } from '../base/hash.ts'
import { type Disarmed, disarm } from './disarm.ts'
import type { InnerElement, OuterElement, outer } from './elements.ts'
import { inner, writeHead, writeInner, writeTail } from './elements.ts'

/** Where fenced text came from. */
export type Origin =
  | 'memory'
  | 'files'
  | 'scratchpad'
  | 'resource'
  | 'tool'
  | 'attachment'
  | 'substrate'
  | 'message'
  | 'peer'

type Attributes<Of extends { required: readonly string[]; optional: readonly string[] }> = Readonly<
  Record<Of['required'][number], string> & Partial<Record<Of['optional'][number], string | undefined>>
>
type Outer<Element extends OuterElement, Holds> = { readonly element: Element } & Attributes<(typeof outer)[Element]> &
  Holds
type Inner<Element extends InnerElement> = Element extends InnerElement
  ? { readonly element: Element; readonly text: string } & Attributes<(typeof inner)[Element]>
  : never

/** Retrieved, recalled, uploaded or returned text. */
type DataFence = Outer<
  'ambit_data',
  {
    readonly origin: Origin
    readonly text: string
    /** The text comes out of `disarm`: it was counted as it stands, and is not disarmed twice. */
    readonly isDisarmed?: boolean
  }
>

/** A file that steers the agent. */
type SteeringFence = Outer<'ambit_steering', { readonly text: string }>

/** What was selected from one knowledge pack. */
export type PackFence = Outer<'knowledge_pack', { readonly parts: readonly PackPart[] }>

/** The packs there are, each in its own words. */
type CatalogFence = Outer<'available_knowledge_packs', { readonly parts: readonly (CatalogPart | PackPart)[] }>

export type CatalogPart = Inner<'knowledge_entry'>

export type PackPart = Inner<Exclude<InnerElement, 'knowledge_entry'>>

export interface Fenced extends Disarmed {
  readonly boundary: string
}

/**
 * The one way text that is not ours reaches a model: in an element that no content can close, open or forge.
 * `seed` is the secret of the run, at least 128 random bits; the same seed and text give the same bytes.
 */
export function fence(
  input: (DataFence | SteeringFence | PackFence | CatalogFence) & { readonly seed: Uint8Array },
): Fenced {
  assert(input.seed.length >= 16, 'a fence seed has at least 128 bits')
  const { element } = input
  const { text: body, disarmed } = bodyOf(input)
  const boundary = boundaryOf(input.seed, body)
  const text = writeHead(element, { ...input, boundary }) + body + writeTail(element, boundary)
  return { text, disarmed, boundary }
}

function bodyOf(input: DataFence | SteeringFence | PackFence | CatalogFence): Disarmed {
  if ('parts' in input) return joinParts(input.parts)
  return 'isDisarmed' in input && input.isDisarmed ? { text: input.text, disarmed: 0 } : disarm(input.text)
}

function joinParts(parts: readonly (PackPart | CatalogPart)[]): Disarmed {
  const written = parts.map((part) => {
    const { text, disarmed } =
      inner[part.element].form === 'block' ? disarm(part.text) : { text: part.text, disarmed: 0 }
    return { text: writeInner(part.element, part, text), disarmed }
  })
  return {
    text: written.map(({ text }) => text).join('\n'),
    disarmed: written.reduce((sum, { disarmed }) => sum + disarmed, 0),
  }
}

/** 96 bits that cannot be foreseen without the seed, least of all by the author of the text. */
const boundaryOf = (seed: Uint8Array, body: string): string =>
  digestUnder(seed)(['fence', sha256(body)]).slice('hmac-sha256:'.length, 'hmac-sha256:'.length + 24)
