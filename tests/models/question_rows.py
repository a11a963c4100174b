"""Questions that readers are tried on, in the words of `fine_tuned_rungs`."""

from langladder.text.labelled.questions import Answer, Question

CAT = "the cat sees a dog . the dogs walk to the house ."
DOG = "a dog sleeps ."
QUESTIONS = [
    Question(CAT, "the cat sees", (Answer("a dog", 13),), ("a dog", "the house", ""), "1"),
    Question(CAT, "the dogs walk", (Answer("to the house", 35), Answer("the house", 38)), ("", "to the house"), "2"),
    Question(CAT, "a house sees", (), ("the cat", ""), "3"),
    Question(DOG, "a dog", (Answer("sleeps", 6),), ("sleeps", "a dog", ""), "4"),
    Question(DOG, "the cat", (), ("sleeps", ""), "5"),
]
