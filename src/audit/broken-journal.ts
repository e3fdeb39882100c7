/** The journal can't be followed: nothing may be made from it. */
export class BrokenJournal extends Error {}
