/** Work that is counted as it is done, and given up when it is more than was allowed. */
export class Steps {
  left = 0

  /** Allows so many from now on. */
  allow(count: number): void {
    this.left = count
  }

  spend(count: number): void {
    this.left -= count
    if (this.left < 0) throw new StepsSpent()
  }
}

/** More was to be done than was allowed. */
export class StepsSpent extends Error {}
