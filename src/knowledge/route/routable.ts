import { limits } from '../../base/limits.ts'
import { termsOf } from './words.ts'

/** What routing knows of a pack: its catalog entry, and the prompts of suites that count. */
export interface Routable {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly language?: string | undefined
  /** Prompts that should select the pack, and that should not. */
  readonly select: readonly string[]
  readonly reject: readonly string[]
}

/** The words of the name, in order. */
export const nameTerms = (pack: Routable): readonly string[] =>
  termsOf(pack.name.slice(0, limits.knowledgeTermCharsMax).replaceAll('-', ' '), pack.language)

/** Of what is longer than a description may be, the rest counts for nothing. */
export const descriptionOf = (pack: Routable): string => pack.description.slice(0, limits.knowledgeDescriptionCharsMax)

/** The terms of each prompt that counts: no pack can talk itself into every question by the number of its prompts. */
export const promptTerms = (pack: Routable, prompts: readonly string[]): readonly (readonly string[])[] =>
  prompts
    .slice(0, limits.knowledgePromptsPerPackMax)
    .map((prompt) => termsOf(prompt.slice(0, limits.knowledgePromptCharsMax), pack.language))
