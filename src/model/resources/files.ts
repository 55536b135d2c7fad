import { z } from 'zod'
import { limits } from '../../base/limits.ts'

const path = z.string().max(limits.filePathCharsMax).describe('A path such as `notes/today.md`.')
const folder = path.optional().describe('A folder; all there is unless said otherwise.')
const hash = z.string().max(64).optional()

/** What the tools of the files provider take. */
export const filesInput = {
  list: z.strictObject({
    path: folder,
    depth: z.int().min(1).max(5).optional().describe('How many levels of folders; 1 unless said otherwise.'),
    limit: z.int().min(1).max(500).optional().describe('How many at most; 200 unless said otherwise.'),
    cursor: path.optional().describe('`nextCursor` of the page before.'),
  }),
  read: z.strictObject({
    path,
    offset: z.int().min(0).optional().describe('The byte to begin at.'),
    length: z.int().min(1).max(limits.fileReadBytesMax).optional().describe('How many bytes at most.'),
  }),
  search: z.strictObject({
    query: z.string().min(1).max(256).describe('What a line must contain, in small or capital letters.'),
    path: folder,
    limit: z.int().min(1).max(200).optional().describe('How many at most; 50 unless said otherwise.'),
  }),
  write: z.strictObject({
    path,
    content: z.string().max(limits.jsonBytesMax),
    encoding: z.enum(['utf8', 'base64']).optional(),
    ifHash: hash.describe('Only if the file has this hash now; `absent`: only if there is none.'),
  }),
  delete: z.strictObject({ path, ifHash: hash.describe('Only if the file has this hash now.') }),
}

export type FilesInput<Tool extends keyof typeof filesInput> = z.infer<(typeof filesInput)[Tool]>
