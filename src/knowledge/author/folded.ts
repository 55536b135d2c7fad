/**
 * Text as it is compared with patterns: compatibility form, lower case, nothing invisible, plain apostrophes, lines ended
 * by a line feed. It has the same lines as the text.
 */
export function folded(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n')
  // Almost all text is plain, and plain text needs no more than this.
  if (plain.test(lines)) return lines.toLowerCase()
  return lines.normalize('NFKC').replace(unseen, '').replace(/[‘’ʼ]/g, "'").toLowerCase()
}

const plain = /^[\t\n\x20-\x7e]*$/
// Control characters that do not end a line, and whatever shows nothing.
const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
