#!/usr/bin/env python3
"""Makes the font files in this folder from their published packages. See README.md for the packages.

usage: build.py SOURCES

SOURCES is a folder that holds the unpacked packages under the names README.md gives. The output is the same
bytes for the same inputs and the same fonttools (timestamps are kept from the sources).
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = Path(__file__).resolve().parent

INTER = "inter/package/variable/InterVariable.woff2"
JETBRAINS = "jetbrains/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-{}.ttf"
PHOSPHOR = "phosphor/package/src/regular/Phosphor.ttf"
NOTO_CJK = "noto-cjk/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
NOTO_EMOJI = "noto-emoji/package/400Regular/NotoEmoji_400Regular.ttf"
DEJAVU = "dejavu/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

# Private use stays out of the text fonts, so that an icon's codepoint can only come from the icon font.
# Controls stay out because the text layout gives them their meaning.
TEXT = [c for c in range(0x20, 0x1FFFF) if not (0x7F <= c < 0xA0 or 0xE000 <= c < 0xF900)]
PRIVATE_USE = list(range(0xE000, 0xF900))

# Positioning and composition only. The shaper switches on every ligature and contextual alternate it finds, which
# would redraw `->` and `!=` in code and `->` or `1x2` in prose; so those features must not be in the files.
TEXT_FEATURES = ["ccmp", "locl", "mark", "mkmk", "kern"]

# The characters that numbers in columns are made of. Inter's own list also widens spaces and brackets, which tears
# `12 KB` and `(3)` apart.
TABULAR = "0123456789+−"

TEST_HAN = (
    "一二三四五六七八九十人大小中国文字语語言日本東京北上下左右前后後我你他们是不的了在有和说說話话"
    "好世界测试試桌会議讨論代码碼读読写書問答"
)
TEST_KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがですっゃゅょ"
TEST_KATAKANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンーッ"
TEST_HANGUL = "한국어안녕하세요세계테스트대화모델코드읽기쓰는이가을를에서은다"
TEST_CJK_PUNCTUATION = "　、。〈〉《》「」『』【】〜・！？（），：；"
TEST_EMOJI = "😀😂🙂🤔👍👋🎉🚀🔥✅❌⚠❤⭐✨💡🐛📁📝🔒👨👩👧👦👩💻🏽🇩🇪🇯🇵#1\u200d\ufe0f\u20e3"
TEST_RIGHT_TO_LEFT = "אבגדהוזחטיכךלמםנןסעפףצץקרשת" "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي،؟"


def cut(source, target, unicodes, features):
    """Writes `target`: the part of `source` that `unicodes` and `features` reach."""
    options = subset.Options()
    options.layout_features = list(features)
    options.name_IDs = ["*"]
    options.name_languages = [0x409]
    options.notdef_outline = True
    options.glyph_names = False
    options.recalc_timestamp = False
    options.drop_tables += ["DSIG", "FFTM", "MATH"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=unicodes)
    subsetter.subset(source)
    source.flavor = None
    target = HERE / target
    source.save(target)
    print(f"{target.stat().st_size:>9,} {target.relative_to(HERE)} ({len(source.getBestCmap())} characters)")


def open_font(path, number=-1):
    return TTFont(path, fontNumber=number, recalcTimestamp=False, lazy=False)


def rename(font, family):
    """Gives a face that draws differently from its source a family name of its own."""
    names = font["name"]
    for record in list(names.names):
        if record.nameID in (1, 4, 16):
            names.setName(family, record.nameID, record.platformID, record.platEncID, record.langID)
        elif record.nameID == 6:
            names.setName(family.replace(" ", ""), 6, record.platformID, record.platEncID, record.langID)


def use_tabular_forms(font):
    """Maps each character of TABULAR straight to the form that the feature `tnum` would swap in."""
    gsub = font["GSUB"].table
    swaps = {}
    for record in gsub.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for table in gsub.LookupList.Lookup[index].SubTable:
                    swaps.update(getattr(table, "ExtSubTable", table).mapping)
    for table in font["cmap"].tables:
        for char in TABULAR:
            glyph = table.cmap[ord(char)]
            table.cmap[ord(char)] = swaps.get(glyph, glyph)


def main(sources):
    inter = sources / INTER
    cut(open_font(inter), "InterVariable.ttf", TEXT, TEXT_FEATURES)

    tabular = open_font(inter)
    use_tabular_forms(tabular)
    rename(tabular, "Inter Tabular")
    cut(tabular, "InterTabular.ttf", [ord(c) for c in TABULAR], [])

    for weight in ("Regular", "Bold"):
        cut(open_font(str(sources / JETBRAINS).format(weight)), f"JetBrainsMono-{weight}.ttf", TEXT, TEXT_FEATURES)

    cut(open_font(sources / PHOSPHOR), "Phosphor.ttf", PRIVATE_USE, [])

    han = TEST_HAN + TEST_KANA + TEST_KATAKANA + TEST_HANGUL + TEST_CJK_PUNCTUATION
    cjk = open_font(sources / NOTO_CJK, number=2)
    cut(cjk, "test/NotoSansCJK-Test.otf", [ord(c) for c in han], [])
    cut(open_font(sources / NOTO_EMOJI), "test/NotoEmoji-Test.ttf", [ord(c) for c in TEST_EMOJI], ["ccmp"])
    cut(open_font(sources / DEJAVU), "test/DejaVuSans-Test.ttf", [ord(c) for c in TEST_RIGHT_TO_LEFT],
        ["ccmp", "init", "medi", "fina", "isol", "rlig", "mark", "mkmk"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
