import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { stemOf } from './layout.ts'
import type { Section } from './section.ts'

/** One entry of an ontology or of answers. Clients write these files in many ways; whatever is not understood is left out. */
export interface RecordItem {
  readonly path: string
  readonly id: string
  readonly fields: JsonObject
}

/** An entry as it is sent. */
export interface RecordEntry extends Pick<Section, 'findings' | 'unanchored' | 'marks'> {
  readonly item: RecordItem
  readonly title: string
  readonly lines: readonly string[]
}

export const nameKeys = ['name', 'label', 'title', 'term', 'id']
export const textKeys = 'definition description statement text claim answer summary body rule content'.split(' ')

/** The entries of one kind (`concepts`, `claims`, …) in all files: a list by itself, or a member of that name. */
export function itemsOf(files: ReadonlyMap<string, Json>, kind: string): readonly RecordItem[] {
  const out: RecordItem[] = []
  for (const [path, value] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const entry of listIn(path, value, kind).slice(0, limits.knowledgeRecordsMax)) {
      if (isJsonObject(entry))
        out.push({ path, id: textOf(entry, idKeys(kind)) ?? `${kind}-${out.length + 1}`, fields: entry })
    }
  }
  return out
}

function listIn(path: string, value: Json, kind: string): readonly Json[] {
  const keys = [kind, kind.replaceAll('-', '_')]
  if (Array.isArray(value)) return stemOf(path) === kind ? value : []
  if (!isJsonObject(value)) return []
  const key = keys.find((name) => Object.hasOwn(value, name))
  const list = key === undefined ? undefined : value[key]
  return Array.isArray(list) ? list : []
}

const idKeys = (kind: string): readonly string[] => ['id', `${kind.replace(/s$/, '').replaceAll('-', '_')}_id`, 'key']

/** The first of these members that is a text which is not blank. */
export function textOf(fields: RecordItem['fields'], keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
  }
  return undefined
}

/** All texts under these members, single or in lists; of an object its id. */
export function textsOf(fields: RecordItem['fields'], keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined
    return [value]
      .flat()
      .flatMap((one) =>
        typeof one === 'string' ? [one] : isJsonObject(one) ? (textOf(one, ['id', 'path']) ?? []) : [],
      )
  })
}

/** The sources that an entry names. Only files of the pack can be anchors: a web address is text like any other. */
export function marksOf({ fields }: RecordItem): readonly string[] {
  const path = textsOf(fields, ['path', 'source', 'source_path']).find(isPlace)
  const anchor = textOf(fields, ['anchor'])
  const place = path === undefined ? [] : [anchor === undefined ? path : `${path}#${anchor.replace(/^#/, '')}`]
  const marks = [...place, ...textsOf(fields, ['source_anchors', 'anchors', 'sources', 'evidence'])]
  return marks.filter(isPlace).slice(0, limits.knowledgeMarksMax)
}

const isPlace = (text: string): boolean => /^(?:\.\/)*(?:sources|documents|wiki|compiled)\//.test(text)
