import { Failure, quote } from '../../base/failure.ts'
import type { LoadedRef } from '../../compile/facts.ts'
import { type ContextPack, contextPack, type PackCatalog, packCatalog } from '../../model/contract/pack.ts'
import { type ParseProblem, problemsOf } from '../../model/parse.ts'

export type PackDocument = ContextPack | PackCatalog
export type PackKind = LoadedRef['kind']

const kinds: Readonly<Record<string, PackKind>> = {
  ctxpack: 'pack',
  'decision-catalog': 'catalog',
  'intent-catalog': 'catalog',
}

const refForm = /^([A-Za-z0-9_.:-]+)@((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))$/

/** A ref that pins one version; its kind is said by the beginning of the name. */
export function readRef(ref: string, pointer: string): { readonly id: string; readonly kind: PackKind } {
  const id = refForm.exec(ref)?.[1]
  if (id === undefined) {
    const help = 'name one version, such as `ctxpack.desk@1.2.3`'
    throw new Failure('pack.ref_unpinned', `${quote(ref)} names no exact version`, { pointer }, help)
  }
  const kind = kindOf(id)
  if (kind === undefined) throw new Failure('pack.ref_kind', `${quote(ref)} is of no known kind`, { pointer })
  return { id, kind }
}

const kindOf = (id: string): PackKind | undefined => {
  const [prefix = ''] = id.split('.')
  return Object.hasOwn(kinds, prefix) ? kinds[prefix] : undefined
}

/** The refs of a request, in its order: at least one of them a pack. */
export function readRefs(refs: readonly string[]): readonly string[] {
  const read = refs.map((ref, index) => readRef(ref, `/context_pack_refs/${index}`))
  if (read.some(({ kind }) => kind === 'pack')) return refs
  const message = 'a request names at least one context pack'
  throw new Failure(
    'pack.refs_empty',
    message,
    { pointer: '/context_pack_refs' },
    'add one, such as `ctxpack.desk@1.2.3`',
  )
}

export const refOf = ({ pack_meta: { pack_id, pack_version } }: PackDocument): string => `${pack_id}@${pack_version}`

/** The document, or everything that is wrong with its shape. Its name says which shape it must have. */
export function readDocument(
  value: unknown,
): { readonly document: PackDocument; readonly kind: PackKind } | { readonly problems: readonly ParseProblem[] } {
  const id = (value as { readonly pack_meta?: { readonly pack_id?: unknown } } | null)?.pack_meta?.pack_id
  const kind = typeof id === 'string' ? (kindOf(id) ?? 'pack') : 'pack'
  const schema = kind === 'pack' ? contextPack : packCatalog
  const read = schema.safeParse(value)
  return read.success ? { document: read.data as PackDocument, kind } : { problems: problemsOf(schema, value) }
}
