"""Avro schemas: conversion to and from Arrow types, and unions of records."""
