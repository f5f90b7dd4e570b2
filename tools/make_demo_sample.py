#!/usr/bin/env python3
"""Makes the table that `fmd demo` embeds: src/data/sample/acs_income.csv.gz.

It holds 30,000 of the 332,900 rows of the test fifth of ACSIncome 2018 (folktables' task on the US Census Bureau's
American Community Survey public use microdata), with the Census codes replaced by words. Code meanings: the Census
Bureau's "2018 ACS PUMS data dictionary"; occupations and birthplaces are grouped by their code ranges.

    FMD_DATA=FOLDER tools/make_demo_sample.py            writes the table, prints its counts
    FMD_DATA=FOLDER tools/make_demo_sample.py --check    compares with the file that is there, writes nothing

The draw: a row's ticket is sha256("SEED:ROW"), ROW counted from 0; the 30,000 smallest tickets are kept, in the order
of the source. The same source gives the same table on every machine. Python's standard library is all it needs.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import io
import os
import pathlib
import struct
import sys
import zlib

SEED = "fmd-demo-1"
SAMPLE_ROWS = 30_000
SOURCE_ROWS = 332_900
SOURCE_NAME = "acs_income/ACSIncome.test.csv.gz"
SOURCE_SHA256 = "b26ad4d5e45c236b46cec27ce221098a443d6a534e32d846c841fc1b46ebf9ce"  # the file
SOURCE_TEXT_SHA256 = "f5079dda9d96bcce9544c5e236790c79c6e426b2eb7e068e1295c4e222168d01"  # the CSV in it
SOURCE_HEADER = "PINCP,RAC1P,SCHL,POBP,SEX,OCCP,RELP,COW,MAR,WKHP,AGEP,index".split(",")
SOURCE_HELP = (
    "Public source: the GitHub repository dssg/aequitas, commit 4dc71c69cdf15f3dfa53638665d722f5f1763bad, file "
    "datasets/FolkTables/ACSIncome.test.parquet, turned into CSV (same rows, integers, lines end in \\n)."
)

RESULT = pathlib.Path(__file__).resolve().parent.parent / "src/data/sample/acs_income.csv.gz"
MAX_BYTES = 450_000

# Words: the codes they stand for. A code that no line names stops the script.
INCOME = {"<=50000": "0", ">50000": "1"}  # PINCP arrives as the answer to "above $50,000?"

SEX = {"Male": "1", "Female": "2"}

RACE = {  # RAC1P less 1
    "White": "0",
    "Black": "1",
    "American Indian": "2",
    "Alaska Native": "3",
    "Amer. Indian, tribe not given": "4",  # also: tribes of American Indians and of Alaska Natives
    "Asian": "5",
    "Pacific Islander": "6",
    "Other": "7",
    "Two or more": "8",
}

MARITAL_STATUS = {"Married": "1", "Widowed": "2", "Divorced": "3", "Separated": "4", "Never married": "5"}

CLASS_OF_WORKER = {
    "Private company": "1",
    "Nonprofit": "2",
    "Local government": "3",
    "State government": "4",
    "Federal government": "5",
    "Self-employed unincorporated": "6",
    "Self-employed incorporated": "7",
    "Unpaid family worker": "8",
}

EDUCATION = {
    "No schooling": "1",
    "Preschool to grade 6": "2-9",
    "Grade 7 or 8": "10-11",
    "Grade 9": "12",
    "Grade 10": "13",
    "Grade 11": "14",
    "Grade 12 without diploma": "15",
    "High school diploma": "16",
    "GED or equivalent": "17",
    "College under 1 year": "18",
    "College without degree": "19",
    "Associate's degree": "20",
    "Bachelor's degree": "21",
    "Master's degree": "22",
    "Professional degree": "23",
    "Doctorate": "24",
}

RELATIONSHIP = {  # to the householder, whom the survey calls the reference person
    "Householder": "0",
    "Husband or wife": "1",
    "Son or daughter": "2-4",  # by birth, adopted, step
    "Brother or sister": "5",
    "Parent": "6 8",  # 8: in law
    "Grandchild": "7",
    "Son- or daughter-in-law": "9",
    "Other relative": "10",
    "Roomer or boarder": "11",
    "Housemate": "12",
    "Unmarried partner": "13",
    "Other nonrelative": "14-15",  # 14: foster child
    "Lives in an institution": "16",
    "Lives in group quarters": "17",  # dormitories, barracks
}

OCCUPATION = {  # the major groups of the Census occupation codes of 2018
    "Management": "10-440",
    "Business": "500-750",
    "Financial": "800-960",
    "Computer and math": "1005-1240",
    "Engineering": "1305-1560",
    "Science": "1600-1980",
    "Social services": "2001-2060",
    "Legal": "2100-2180",
    "Education": "2205-2555",
    "Arts and media": "2600-2920",
    "Health care": "3000-3550",
    "Health support": "3601-3655",
    "Protective service": "3700-3960",
    "Food service": "4000-4160",
    "Cleaning and grounds": "4200-4255",
    "Personal care": "4330-4655",
    "Sales": "4700-4965",
    "Office support": "5000-5940",
    "Farming and forestry": "6005-6130",
    "Construction": "6200-6765",
    "Mining and drilling": "6800-6950",
    "Installation and repair": "7000-7640",
    "Production": "7700-8990",
    "Transportation": "9005-9760",
    "Military": "9800-9830",
}

BIRTHPLACE = {
    "United States": "1-56",
    "Puerto Rico and islands": "60-78",  # the islands: American Samoa, Guam, Northern Marianas, US Virgin Islands
    "Europe": "100-157 160 162-169",
    # Myanmar, Cambodia, China, Hong Kong, Indonesia, Japan, Korea, Laos, Malaysia, Mongolia, Philippines, Singapore,
    # Taiwan, Thailand, Vietnam
    "East and Southeast Asia": "205-207 209 211 215 217 223 226-228 233 236 240-242 247",
    "South Asia": "200-203 210 229-231 238",  # Afghanistan, Bangladesh, Bhutan, India, Nepal, Pakistan, Sri Lanka
    "Other Asia": "158-159 161 212-214 216 218-222 224 235 239 243-246 248-254",  # Middle East, Caucasus, inner Asia
    "Canada and Bermuda": "300-301",
    "Mexico": "303",
    "Central America": "310-316",
    "Caribbean": "321-344",
    "South America": "360-374",
    "Africa": "400-469",
    "Oceania and elsewhere": "501-527 399 554",  # 399: the Americas, not specified; 554: not specified, at sea
}


def stop(message):
    sys.exit(f"make_demo_sample: {message}")


def numbers(low, high):
    return {code: code for code in range(low, high + 1)}


def words(meanings):
    """{"Parent": "6 8"} -> {6: "Parent", 8: "Parent"}"""
    result = {}
    for text, codes in meanings.items():
        for span in codes.split():
            first, _, last = span.partition("-")
            for code in range(int(first), int(last or first) + 1):
                if result.setdefault(code, text) != text:
                    stop(f"code {code} means both {result[code]} and {text}")
    return result


COLUMNS = {  # column of the table: column of the source, meaning of its codes
    "age": ("AGEP", numbers(17, 99)),
    "class_of_worker": ("COW", words(CLASS_OF_WORKER)),
    "education": ("SCHL", words(EDUCATION)),
    "marital_status": ("MAR", words(MARITAL_STATUS)),
    "occupation": ("OCCP", words(OCCUPATION)),
    "birthplace": ("POBP", words(BIRTHPLACE)),
    "relationship": ("RELP", words(RELATIONSHIP)),
    "hours_per_week": ("WKHP", numbers(1, 99)),
    "sex": ("SEX", words(SEX)),
    "race": ("RAC1P", words(RACE)),
    "income": ("PINCP", words(INCOME)),
}


def read_source():
    folder = os.environ.get("FMD_DATA")
    if not folder:
        stop(f"set FMD_DATA to the folder that holds {SOURCE_NAME}. {SOURCE_HELP}")
    path = pathlib.Path(folder) / SOURCE_NAME
    if not path.is_file():
        stop(f"{path} is missing. {SOURCE_HELP}")
    packed = path.read_bytes()
    try:
        text = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        stop(f"{path} cannot be unpacked: {error}. {SOURCE_HELP}")
    # One's own conversion packs to other bytes; what must agree then is the CSV itself.
    if hashlib.sha256(packed).hexdigest() != SOURCE_SHA256 and hashlib.sha256(text).hexdigest() != SOURCE_TEXT_SHA256:
        stop(f"{path}: the sha256 is not {SOURCE_SHA256} (nor {SOURCE_TEXT_SHA256} unpacked). {SOURCE_HELP}")
    rows = list(csv.reader(io.StringIO(text.decode("ascii"))))
    if rows[0] != SOURCE_HEADER or len(rows) - 1 != SOURCE_ROWS:
        stop(f"{path}: expected {SOURCE_ROWS} rows of {','.join(SOURCE_HEADER)}")
    return rows[1:]


def make_table(source):
    """The table with its header; every row of the source is translated, so that an unknown code cannot hide."""
    columns = []
    for name, meaning in COLUMNS.values():
        codes = [int(row[SOURCE_HEADER.index(name)]) for row in source]
        unknown = sorted(set(codes) - set(meaning))
        if unknown:
            stop(f"column {name}: no meaning for code {unknown[0]} (unknown codes: {len(unknown)})")
        columns.append([meaning[code] for code in codes])
    ticket = [hashlib.sha256(f"{SEED}:{row}".encode()).digest() for row in range(len(source))]
    kept = sorted(sorted(range(len(source)), key=ticket.__getitem__)[:SAMPLE_ROWS])
    return [list(COLUMNS)] + [[column[row] for column in columns] for row in kept]


def pack(text):
    """A gzip file without date and name, hence always the same bytes."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = deflate.compress(text) + deflate.flush()
    return b"\x1f\x8b\x08\x00\0\0\0\0\x02\xff" + body + struct.pack("<II", zlib.crc32(text), len(text))


def main():
    parser = argparse.ArgumentParser(description="Makes the table that `fmd demo` embeds.")
    parser.add_argument("--check", action="store_true", help="compare with the file that is there, write nothing")
    check = parser.parse_args().check

    table = make_table(read_source())
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(table)
    text = lines.getvalue().encode("ascii")
    packed = pack(text)
    if len(packed) > MAX_BYTES:
        stop(f"the table packs to {len(packed)} bytes, more than {MAX_BYTES}")

    if check:
        if not RESULT.is_file():
            stop(f"{RESULT} is missing: run without --check")
        there = RESULT.read_bytes()
        if hashlib.sha256(there).hexdigest() not in (RESULT.parent / "README.md").read_text():
            stop(f"{RESULT.parent / 'README.md'} does not name the sha256 of {RESULT.name}")
        if there != packed:
            if gzip.decompress(there) != text:
                stop(f"{RESULT} differs from what this script makes: run without --check")
            print(f"same table, packed by another zlib than {zlib.ZLIB_RUNTIME_VERSION}")
        print(f"{RESULT.name} is what this script makes")
        return
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_bytes(packed)
    for i, name in enumerate(table[0]):
        counts = collections.Counter(row[i] for row in table[1:])
        shown = f"{min(counts)} .. {max(counts)}" if name in ("age", "hours_per_week") else dict(counts.most_common())
        print(f"{name}: {len(counts)} values: {shown}")
    print(f"{RESULT.name}: {len(table) - 1} rows, {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}")
    print(f"unpacked: {len(text)} bytes, sha256 {hashlib.sha256(text).hexdigest()}")


if __name__ == "__main__":
    main()
