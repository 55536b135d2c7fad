import type { Json } from '../../base/canonical.ts'
import { doubtsAbout } from './record-doubts.ts'
import { itemsOf, marksOf, type RecordEntry, type RecordItem, textKeys, textOf, textsOf } from './record-items.ts'

/** Answer blocks with the questions they answer. What could be cited is said to be unchecked, and is no anchor. */
export function answerEntries(files: ReadonlyMap<string, Json>): readonly RecordEntry[] {
  const questions = byId(itemsOf(files, 'questions'))
  const targets = byId(itemsOf(files, 'citation-targets'))
  return itemsOf(files, 'answer-blocks').map((item) => {
    const asked = textsOf(item.fields, questionKeys).map((id) =>
      told(questions.get(id), ['text', 'question', 'title'], id),
    )
    const cited = textsOf(item.fields, citationKeys).map((id) => told(targets.get(id), ['url', 'path', 'title'], id))
    return {
      item,
      title: asked.join(' ') || (textOf(item.fields, ['title', 'name']) ?? item.id),
      lines: [
        ...asked.map((question) => `Question: ${question}`),
        `Answer, a candidate: ${textsOf(item.fields, textKeys).join(' ') || item.id}`,
        ...cited.map((target) => `Could be cited, unchecked: ${target}`),
      ],
      findings: doubtsAbout(item, 'answer', true),
      marks: marksOf(item),
    }
  })
}

const questionKeys = ['question', 'question_id', 'question_ids', 'questions']
const citationKeys = ['citation_targets', 'citation_target_ids', 'citations']

const byId = (items: readonly RecordItem[]): ReadonlyMap<string, RecordItem> =>
  new Map(items.map((item) => [item.id, item]))

const told = (item: RecordItem | undefined, keys: readonly string[], id: string): string =>
  textOf(item?.fields ?? {}, keys) ?? id
