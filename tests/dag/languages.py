"""Small corpora in languages that are not written as English is: made by tiny grammars, right translations known."""

from collections.abc import Iterator
from itertools import product

SUBJECTS = {
    "the cat": "猫",
    "the teacher": "老师",
    "my friend": "我的朋友",
    "a child": "一个孩子",
    "the old man": "老人",
    "she": "她",
}
VERBS = {"sees": "看见", "likes": "喜欢", "draws": "画", "looks for": "寻找", "does not know": "不认识"}
OBJECTS = {
    "the dog": "狗",
    "three books": "三本书",
    "the red house": "红色的房子",
    "a big tree": "一棵大树",
    "the moon": "月亮",
    "the new school": "新学校",
    "two birds": "两只鸟",
}
TIMES = {"": "", "today ": "今天", "yesterday ": "昨天"}


def english_chinese() -> Iterator[tuple[str, str]]:
    """630 pairs: time, subject, verb, object; the Chinese has no space in it."""
    for time, subject, verb, thing in product(TIMES, SUBJECTS, VERBS, OBJECTS):
        chinese = f"{TIMES[time]}{SUBJECTS[subject]}{VERBS[verb]}{OBJECTS[thing]}。"
        yield f"{time}{subject} {verb} {thing} .", chinese
