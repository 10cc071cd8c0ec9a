// Package memoryrules is the part of the offline rules that keeps memories: it
// answers what a memory skill's keeper and designer are asked, from the material
// alone, and says which sentences of a conversation are worth keeping and whom they
// are about. It has a budget of its own, 900 lines of code and 12 answerers, checked
// by a test, and nothing in it knows which stage is asking.
//
// A memory skill is obeyed by what it says, never by its name: its fields compile
// to a filter over sentences. Words such as "dates", "plans" or "preferences" turn
// classes of sentences on, and off behind "ignore" or "never"; "at most 3" and
// "under 20 words" are limits; "with the date", "name the speaker", "compact" and
// "leave out fillers" are the form of what is kept; its action is all that it leads
// to. A tool speaks for whose record it shows.
package memoryrules
