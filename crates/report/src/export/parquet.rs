//! The table of paths and edges as Parquet. All columns are optional; strings have dictionaries.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as SchemaType;

use super::run::{ExportRun, Result};
use super::table::{COLUMNS, Column, Row, Type, Value, rows};

/// Rows of a row group: enough for good dictionaries, and little memory.
const GROUP: usize = 100_000;

/// Writes the table.
pub(super) fn write(export: &ExportRun<'_>, out: &mut (dyn Write + Send)) -> Result<()> {
    Ok(write_table(export, out).map_err(io::Error::other)?)
}

fn write_table(
    export: &ExportRun<'_>,
    out: &mut (dyn Write + Send),
) -> std::result::Result<(), ParquetError> {
    let schema = Arc::new(schema()?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::default())?;
    let mut group: Vec<Row> = Vec::new();
    rows(export, |row| {
        group.push(row);
        match group.len() < GROUP {
            true => Ok(()),
            false => write_group(&mut file, &std::mem::take(&mut group)),
        }
    })?;
    write_group(&mut file, &group)?;
    file.close()?;
    Ok(())
}

fn schema() -> std::result::Result<SchemaType, ParquetError> {
    let columns = COLUMNS.iter().map(|column| {
        let (physical, converted) = match column.r#type {
            Type::Text => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
            Type::Number => (PhysicalType::INT64, ConvertedType::NONE),
            Type::Flag => (PhysicalType::BOOLEAN, ConvertedType::NONE),
        };
        let builder = SchemaType::primitive_type_builder(column.name, physical);
        let builder = builder.with_repetition(Repetition::OPTIONAL);
        builder.with_converted_type(converted).build().map(Arc::new)
    });
    let columns: std::result::Result<Vec<_>, _> = columns.collect();
    SchemaType::group_type_builder("holloway")
        .with_fields(columns?)
        .build()
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[Row],
) -> std::result::Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in &COLUMNS {
        let mut writer = group
            .next_column()?
            .expect("the schema has a column for each of the table");
        write_column(&mut writer, column, rows)?;
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    rows: &[Row],
) -> std::result::Result<(), ParquetError> {
    let values = rows.iter().map(|row| (column.value)(row));
    match column.r#type {
        Type::Text => write_values::<ByteArrayType>(
            writer,
            values.map(|value| match value {
                Value::Text(text) => text.map(ByteArray::from),
                Value::Number(_) | Value::Flag(_) => None,
            }),
        ),
        Type::Number => write_values::<Int64Type>(
            writer,
            values.map(|value| match value {
                Value::Number(number) => number,
                Value::Text(_) | Value::Flag(_) => None,
            }),
        ),
        Type::Flag => write_values::<BoolType>(
            writer,
            values.map(|value| match value {
                Value::Flag(flag) => flag,
                Value::Text(_) | Value::Number(_) => None,
            }),
        ),
    }
}

/// Writes the values that are there. A level of 1 says that a row has one.
fn write_values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> std::result::Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    writer
        .typed::<T>()
        .write_batch(&present, Some(&levels), None)?;
    Ok(())
}
