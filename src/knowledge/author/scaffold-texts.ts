import type { PackMode, PackProfile } from '../../model/knowledge/knowledge.ts'
import type { SelectionSuite } from '../../model/knowledge/records.ts'
import type { PackText } from './pack-content.ts'
import { jsonFile } from './write-pack.ts'

/** The pages that a person is to write over. */
export function pagesOf(
  topic: string,
  { name, profile, mode }: { readonly name: string; readonly profile: PackProfile; readonly mode: PackMode },
): readonly PackText[] {
  return [
    { path: 'sources/notes.md', text: notes(topic) },
    ...(profile === 'wiki-first' ? [] : [{ path: `documents/${name}.md`, text: document(topic) }]),
    ...(profile === 'document-first' ? [] : [{ path: 'wiki/overview.md', text: wiki(topic) }]),
    ...(profile === 'wiki-first' ? [{ path: 'compiled/facts.md', text: facts(topic) }] : []),
    ...(mode === 'persona'
      ? [
          { path: 'compiled/voice.md', text: voice(topic) },
          { path: 'compiled/boundaries.md', text: boundaries(topic) },
        ]
      : []),
  ]
}

const notes = (topic: string): string => `# Notes on ${topic}

Every fact of this pack has a line in a source: a transcript, a mail, a data sheet, a page of notes such as this one.

Keep sources as they came. Nothing here is shown to a model unless somebody asks for the evidence.
`

const document = (topic: string): string => `# ${capital(topic)}

This document is what the pack stands on. Write it for people; sections of it are what a model will be given.

## Facts

Every fact of this pack has a line in a source. One short paragraph for each fact is best: a section is chosen whole.

## Limits

What holds only under some condition, and what the pack does not know, is said here.
`

const wiki = (topic: string): string => `# Overview of ${topic}

One page for each thing worth a name, with links between them. This page is where a reader begins.
`

const facts = (topic: string): string => `# Facts about ${topic}

Every fact of this pack has a line in a source. One short paragraph for each fact is best: a section is chosen whole.
`

const voice = (topic: string): string => `# How ${topic} sounds

Calm, short sentences, plain words. Says “we” for the team and “you” for the reader.
`

const boundaries = (topic: string): string => `# Boundaries of ${topic}

Gives no legal or medical advice, promises no dates, and leaves prices to the people who set them.
`

/** The guide: what the pack is, and which file answers what. */
export const guideOf = (topic: string, pages: readonly PackText[]): string => `# ${capital(topic)}

What is known about ${topic}. Facts come from the files below; sources are the evidence behind them.

## Context map

${pages.map(({ path }) => `- \`${path}\`: ${purposeOf(path)}`).join('\n')}

## Known gaps

Everything is still an example. Write over it, then run \`ambit knowledge validate\` and \`ambit knowledge lint\`.
`

const purposeOf = (path: string): string => purposes.find(([start]) => path.startsWith(start))?.[1] ?? 'the text itself'

const purposes: readonly (readonly [string, string])[] = [
  ['sources/', 'where the facts come from'],
  ['documents/', 'the facts and their limits, at length'],
  ['wiki/', 'where a reader begins'],
  ['compiled/facts', 'the facts in short'],
  ['compiled/voice', 'how it sounds'],
  ['compiled/boundaries', 'where it stops'],
]

/** Prompts to choose the pack by, and others to measure that choice with: the two stay apart. */
export const suitesOf = (name: string, topic: string): readonly PackText[] => [
  suiteFile(name, 'train', [
    { prompt: `What do we know about ${topic}?`, expected: 'select' },
    { prompt: `Which facts about ${topic} have a source?`, expected: 'select' },
    { prompt: 'What will the weather be tomorrow?', expected: 'reject', reason: 'another topic' },
  ]),
  suiteFile(name, 'validation', [
    { prompt: `Where are the limits of ${topic}?`, expected: 'select' },
    { prompt: 'Translate this letter into French.', expected: 'reject', reason: 'another task' },
  ]),
]

function suiteFile(name: string, role: string, cases: readonly Omit<SuiteCase, 'id'>[]): PackText {
  const numbered = cases.map((one, index) => ({ id: `${role}-${index + 1}`, ...one }))
  return jsonFile(`evals/discovery.${role}.json`, { pack_name: name, cases: numbered } satisfies SelectionSuite)
}

type SuiteCase = SelectionSuite['cases'][number]

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
