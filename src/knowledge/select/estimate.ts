/** Tokens of a text where no tokenizer is at hand: rather too many than too few, also of scripts without blanks. */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken)

const bytesPerToken = 3.5
