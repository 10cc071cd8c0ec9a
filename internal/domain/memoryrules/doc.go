// Package memoryrules contains the offline rules for memories. From the material alone, it returns
// the replies of the memory skill executor and designer. It selects the sentences of a conversation
// to remember and their targets. A test limits it to 1,300 lines of code and 14 answerers. It does
// not depend on the stage of the request.
//
// A memory skill works by its text, never by its name. Its fields compile to a filter over
// sentences. Words such as "dates", "plans" or "preferences" select classes of sentences, or
// exclude them after "ignore" or "never". "at most 3" and "under 20 words" are limits. "with the
// date", "name the speaker", "compact" and "leave out fillers" set the form of the items. Its
// action is the only action that it can take. The speaker of a tool result is the owner of the
// record that it shows.
package memoryrules
