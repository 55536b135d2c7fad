import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { isCurrent, type Kept, readBytes, stampOf, withOpen } from '../../files/contained.ts'
import type { Place } from '../../files/folder.ts'
import { diagnostic } from '../../knowledge/diagnostic.ts'
import { isCut } from '../../knowledge/discover/frontmatter.ts'
import { entryName, type ReadHeader, readHeader } from '../../knowledge/discover/header.ts'
import type { HeaderOptions } from '../../knowledge/discover/header-fields.ts'

type Head = Kept & { readonly read: ReadHeader }

/** What was read of entry files, by the id of the pack. */
export type Heads = Map<string, Head>

export interface HeadReader {
  readonly place: Place
  readonly options: HeaderOptions
  /** Of the scan before. */
  readonly known: Heads
  /** Of this scan. */
  readonly heads: Heads
  readonly now: () => number
  /** Told of every entry file that is opened. */
  readonly onRead?: ((path: string) => void) | undefined
}

export interface PackPlace {
  readonly id: string
  /** The name of the directory. */
  readonly folder: string
  /** From the root to the directory, without links. */
  readonly realPath: string
}

/** The header of the pack at a place; read again only when its entry file may have changed. */
export function headOf(reader: HeadReader, pack: PackPlace): ReadHeader {
  const file = pack.realPath === '' ? entryName : `${pack.realPath}/${entryName}`
  const known = reader.known.get(pack.id)
  try {
    const head =
      known !== undefined && isCurrent(reader.place, file, 'file', known) ? known : readHead(reader, file, pack)
    reader.heads.set(pack.id, head)
    return head.read
  } catch (error) {
    return unreadable(pack.id, error)
  }
}

/** Only the head of the file: the body waits until the pack is activated. */
function readHead(reader: HeadReader, file: string, pack: PackPlace): Head {
  return withOpen(reader.place, file, 'file', ({ descriptor, stats }) => {
    const readMs = reader.now()
    reader.onRead?.(file)
    const first = readBytes(descriptor, 0, limits.knowledgeHeadBytes)
    const isWhole = first.length < limits.knowledgeHeadBytes || !isCut(first)
    const bytes = isWhole ? first : readBytes(descriptor, 0, limits.knowledgeFrontmatterBytesMax)
    return { stamp: stampOf(stats), readMs, read: readHeader(bytes, pack, reader.options) }
  })
}

function unreadable(id: string, error: unknown): ReadHeader {
  const { code = 'unknown' } = error as { readonly code?: string }
  const why = `${quote(entryName)} cannot be read (${code})`
  return { extra: {}, digest: '', diagnostics: [diagnostic('entry-kind', entryName, why, { pack: id })] }
}
