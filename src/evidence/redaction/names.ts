/** True if a member's name marks its value as sensitive. Whole words count: `completion_tokens` is not a token. */
export function isSensitiveName(name: string): boolean {
  const kept = answers.get(name)
  if (kept !== undefined) return kept
  const answer = !ownNames.has(name) && hasOneOf(name, sensitiveWords)
  if (name.length <= nameCharsKeptMax && answers.size < namesKeptMax) answers.set(name, answer)
  return answer
}

// Almost all names are seen again: their answers are kept, up to a bound that hostile input cannot push.
const answers = new Map<string, boolean>()
const namesKeptMax = 4096
const nameCharsKeptMax = 64

/** True if not even those who answer for a call need to see the value. An account or the key of a record they do. */
export const isPrivateName = (name: string): boolean => hasOneOf(name, privateWords)

function hasOneOf(name: string, phrases: readonly string[]): boolean {
  const words = ` ${wordsOf(name)} `
  return phrases.some((phrase) => words.includes(` ${phrase} `))
}

const privateWords = [
  ...['password', 'passwords', 'passphrase', 'secret', 'secrets', 'token', 'authorization', 'cookie', 'cookies'],
  ...['credential', 'credentials', 'api key', 'access key', 'private key', 'signing key', 'encryption key'],
  ...['national id', 'card', 'birth date', 'birthdate', 'date of birth'],
]
const sensitiveWords = [...privateWords, 'key', 'account']

/** Members that our own shapes define and that hold names, not secrets. */
const ownNames: ReadonlySet<string> = new Set([
  ...['key_id', 'public_key', 'enc_public_key', 'old_key_id', 'old_public_key', 'new_key_id', 'new_public_key'],
  ...['idempotency_key', 'decision_key', 'credentials_ref', 'key_history', 'revoked_keys'],
])

/** `accessToken`, `access-token`, `ACCESS_TOKEN` and `APIKey2` fall into words alike. */
const wordsOf = (name: string): string =>
  name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/(\p{L})(\p{N})/gu, '$1 $2')
    .replace(/(\p{N})(\p{L})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
